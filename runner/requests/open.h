#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "requests/failure.h"
#include "requests/requests.h"
#include "run/session.h"

namespace lockstep {

/// What a request says of a session.
SessionSettings session_settings(const Basis& basis);

/// Has the eager worker built if it is missing. The builder reports progress and errors on standard
/// error.
Answer<void> provide_eager(const SessionSettings& settings);

/// Reads the operators.
Answer<void> read_operators(Session& session);

/// Refuses where there is no dump of the operators, without which no case can be spelled as Python.
Answer<void> need_operators(const Session& session);

/// Whether a request goes on without the eager worker and the operators that it dumps.
enum class Torch {
  if_there,  ///< what there is is read
  needed,    ///< it is made where there is none yet (Surroundings::provider)
};

/// A session that has read the suite and the operators; every file's errors are in the failure.
Answer<Session> open_session(SessionSettings settings, Torch torch);
Answer<Session> open_session(const Basis& basis, Torch torch = Torch::if_there);

/// What carries out a request.
struct Means {
  /// Hears what a person should know before the run begins; null: nobody does.
  std::function<void(const std::string&)> note;
  /// Executes instead of the workers of this machine; null: these do.
  std::function<std::unique_ptr<Engine>()> engine;
};

/// Makes workers possible, starts those that the filter needs, and meets torch; `logs` as
/// Session::start has it.
Answer<void> start(Session& session, const Filter& filter, const std::filesystem::path& logs,
                   const Means& means);

}  // namespace lockstep
