#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// What people type to call this Lockstep: LOCKSTEP_COMMAND, which its way in sets, else
/// "ci/lockstep".
std::string launcher();

/// The same with words behind it, in back quotes, for messages: "`ci/lockstep check`".
std::string typed(std::string_view words);

}  // namespace lockstep
