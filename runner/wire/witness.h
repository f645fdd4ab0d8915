#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// How it is known who executed a program: a worker of Lockstep's saw it, or somebody says so.
enum class Witness { observed, stated };

/// "observed", "stated": as observations and logs spell them.
std::string_view name_of(Witness witness);
std::optional<Witness> find_witness(std::string_view name);
/// All of them, in the order of the enumeration.
std::vector<std::string> witness_names();

}  // namespace lockstep
