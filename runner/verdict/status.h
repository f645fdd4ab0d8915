#pragma once

#include <span>
#include <string_view>

namespace lockstep {

/// What the judge says of one instance on one path.
enum class Status {
  conform,
  value_differs,
  nonfinite_differs,
  metadata_differs,
  mutation_differs,
  validation_lost,
  spurious_error,
  internal_error,
  crash,
  timeout,
  oom,
  worker_lost,
  not_compiled,
  harness,
  refused,
  extension,
  unsupported,
  inconclusive,
};

/// Which element JUnit has for a verdict.
enum class JunitElement { pass, failure, error, skipped };

/// Everything that depends on a status alone.  The table in status.cpp is its only home.
struct StatusInfo {
  Status status;
  std::string_view name;   ///< as in logs, filters and expectations
  std::string_view label;  ///< for people
  bool fails;              ///< whether a verdict with this status fails a run, unless it is known
  bool fails_strict;       ///< the same with --strict
  JunitElement junit;
  int rank;  ///< place in the order in which the judge looks: the lower, the sooner it decides
  std::string_view meaning;  ///< one line for reports
};

/// All statuses in the order of the enumeration.
std::span<const StatusInfo> all_statuses();

const StatusInfo& info(Status status);

/// The status of that name, or nullptr.
const StatusInfo* find_status(std::string_view name);

}  // namespace lockstep
