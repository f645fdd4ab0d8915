#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/result.h"

namespace lockstep {

/// How a process ends.
enum class Exit {
  ok = 0,        ///< as expected
  failures = 1,  ///< verdicts fail
  usage = 2,     ///< wrong usage, or a file that is invalid
  internal = 3,  ///< Lockstep itself, or no usable worker
  nothing = 4,   ///< nothing was selected
  interrupted = 130,
};

/// Why a request failed: the exit status, and what to print.
struct Failure {
  Exit exit = Exit::usage;
  std::vector<Error> errors = {};
  Diagnostics diagnostics = {};  ///< of files
};

/// What a request gives, or why not.
template <class T>
using Answer = tl::expected<T, Failure>;

inline tl::unexpected<Failure> refuse(Exit exit, Error error) {
  return tl::unexpected<Failure>(Failure{exit, {std::move(error)}, {}});
}
inline tl::unexpected<Failure> refuse(Diagnostics diagnostics) {
  return tl::unexpected<Failure>(Failure{Exit::usage, {}, std::move(diagnostics)});
}

}  // namespace lockstep
