#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "wire/witness.h"

namespace lockstep {

/// What the evidence of compilation says: nothing to compile, compiled, or not.
enum class Compilation { vacuous, given, missing };

Compilation compilation_of(const nlohmann::ordered_json& proof);

/// Past the limit of recompiles a program runs eagerly: eager would be compared with eager.
bool past_recompile_limit(const nlohmann::ordered_json& proof);

/// Whether AOT autograd was seen at work.
bool went_through_aot(const nlohmann::ordered_json& proof);

/// Who executed a program, as its proof tells it.
struct ExecutedBy {
  std::optional<Witness> how;   ///< nothing: nobody looked
  double foreign_fraction = 0;  ///< how much of it others executed, 0 … 1
  /// Eager itself executes nothing but what is neutral: there was nothing to execute.
  bool idle = false;
  std::string fell_back;  ///< why nothing of it was the path's own, in a sentence; else empty
};

/// `by_lockstep`: the worker that looked is one of Lockstep's; what another says of itself is
/// `stated`.
ExecutedBy executed_by(const nlohmann::ordered_json& proof, bool by_lockstep);

}  // namespace lockstep
