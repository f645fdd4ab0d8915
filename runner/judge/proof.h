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

/// Whether a program was compiled when the values of its inputs were known already.
bool knew_inputs(const nlohmann::ordered_json& proof);

/// Why nobody can see who executed, where the backend does not say so itself; empty: somebody can.
std::string unsaid_execution(const nlohmann::ordered_json& proof);

/// Whether the backend was asked to compile something; true where nobody says that it was not.
bool asked_backend(const nlohmann::ordered_json& proof);

/// Whether the backend raised over something that it was asked to compile.
bool backend_raised(const nlohmann::ordered_json& proof);

/// What Dynamo, as torch has it and with a backend that compiles nothing, raises of the program, by
/// its class; empty where it gets through, or nobody tried.
std::string raised_without_backend(const nlohmann::ordered_json& proof);

/// Who executed a program, as its proof tells it.
struct ExecutedBy {
  std::optional<Witness> how;   ///< nothing: nobody looked
  double foreign_fraction = 0;  ///< how much of it others executed, 0 … 1
  /// How much of what eager executes operators executed that the path may call, 0 … 1.
  double permitted_fraction = 0;
  /// Eager itself executes nothing but what is neutral: there was nothing to execute.
  bool idle = false;
  std::string fell_back;  ///< why nothing of it was the path's own, in a sentence; else empty
};

/// `by_lockstep`: the worker that looked is one of Lockstep's; what another says of itself is
/// `stated`.
ExecutedBy executed_by(const nlohmann::ordered_json& proof, bool by_lockstep);

}  // namespace lockstep
