#pragma once

#include "commands/options.h"
#include "run/session.h"

namespace lockstep {

/// What the command line says of a session.
SessionSettings session_settings(const Options& options);

/// Reads the operators.  Errors are printed; then the result is the exit status to end with.
tl::expected<void, Exit> read_operators(Session& session);

/// Says where there is no dump of the operators, without which no case can be spelled as Python.
tl::expected<void, Exit> need_operators(const Session& session);

/// A session that has read the suite and the operators.  Every file's errors are printed; then the
/// result is the exit status to end with.
tl::expected<Session, Exit> open_session(const Options& options);

}  // namespace lockstep
