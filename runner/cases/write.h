#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "cases/case.h"

namespace lockstep {

/// A case as a file says it, with its matrix and its sweep filled in; decoding gives the same case,
/// but for its id and where it came from.  The keys are in the order of docs/cases/format.md, every
/// operator has its overload, and what is a default is left out: equal cases have equal files.  A
/// whole list of tensors as an output, which sweeps may have, no file says otherwise.
Json case_to_json(const Case& declared);

/// The files of values that a case has elements from, by their names.
std::map<std::string, FileFill> files_of(const Case& declared);

/// The same as a text, with a final newline.
std::string case_text(const Case& declared);

/// JSON as people write it: what fits into a line stands in one.  With a final newline.
std::string json_text(const Json& json);

/// An element as a file says it: the shortest number that reads back as it, or one of the spellings
/// of the format.
Json element_to_json(const Dtype& dtype, const ElementBits& bits);

}  // namespace lockstep
