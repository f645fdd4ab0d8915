#pragma once

#include <optional>
#include <string_view>

#include "cases/case.h"
#include "policies/policy.h"

namespace lockstep {

/// The policy a case asks for, if it says something: `output` as the judge names it ("y", "grad x",
/// "input x").  An exact path name wins over a glob.
std::optional<Policy> policy_for(const Case& declared, std::string_view output,
                                 std::string_view path);

}  // namespace lockstep
