#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cases/suite.h"
#include "plan/names.h"

namespace lockstep {

/// The filter terms of a level file; what is wrong with it or with a term is added to
/// `diagnostics`.
std::vector<std::string> decode_level(const JsonFile& file, Diagnostics& diagnostics);

/// Adds an error for each term of a level that names a case, an instance, a tag, a path or a device
/// that there is not.  Of a sweep's instances only the case is looked at: which operators it has,
/// each torch decides.
void check_level(const JsonFile& file, const std::vector<CaseFile>& suite, const KnownNames& names,
                 Diagnostics& diagnostics);

}  // namespace lockstep
