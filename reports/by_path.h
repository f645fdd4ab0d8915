#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "record/judged.h"
#include "record/tally.h"

namespace lockstep {

/// The tally of each path, in the order in which the run names them.
std::vector<std::pair<std::string, Tally>> tally_by_path(const RunRecord& record, bool strict);

/// How much conforms of what was judged.
struct Rate {
  std::size_t conform = 0, judged = 0;

  void add(const Verdict& verdict) {
    conform += verdict.found.status == Status::conform;
    judged += info(verdict.found.status).judged();
  }
  std::string text() const { return rate_text(conform, judged); }
};

/// How much conforms on each path, in the order in which the run names them.
struct RatesByPath {
  struct Of {
    std::string path;
    Rate own;     ///< of all that was judged on it
    Rate common;  ///< of the instances that were judged on every path that judged any
  };
  std::vector<Of> paths;  ///< those that judged any
  /// Whether some judged instances that others did not: then only `common` can be compared.
  bool differ = false;
};
RatesByPath rates_by_path(const RunRecord& record);

/// How far results may be off besides the contracts of a run's paths, as their files declare it,
/// in a line for each: {"mine", "mm, bmm of float16 within rtol 0.01, atol 0.001: The unit adds in
/// halves."}.  Texts of a stranger, as they are.
std::vector<std::pair<std::string, std::string>> declared_tolerances(const RunInfo& run);

}  // namespace lockstep
