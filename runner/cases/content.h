#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cases/registry.h"
#include "cases/suite.h"

namespace lockstep {

/// A digest of an instance's content, 16 hexadecimal digits. It covers the file's JSON with the
/// matrix choice and the sweep's call filled in, but no title, tags or links. The
/// same on every machine and with every torch that has the operator; empty where a sweep calls one
/// that the registry lacks.
std::string content_digest(const CaseFile& file, const MatrixChoice& choice,
                           const Registry* registry);

/// By the name of each fill rule, the digest of numbers that it makes: an instance that says the
/// same gets other inputs where one of them has changed.
std::map<std::string, std::string> fill_digests();

/// Adds to an expanded sweep the instances of other torches that `suffixes` name,
/// "[op=of_the_future,x=rows]": those of operators that its rule does not take here.  Decoding
/// makes them unsupported where the registry lacks the operator.  What is no instance of any torch
/// is not added.
void add_choices(CaseFile& file, const std::set<std::string>& suffixes);

}  // namespace lockstep
