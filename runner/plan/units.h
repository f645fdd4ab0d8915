#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace lockstep {

/// What machines that share a plan cannot divide: the instances of one graph, from the first to
/// before the last.
struct Unit {
  std::size_t begin = 0, end = 0;
};

std::vector<Unit> units_of(const Plan& plan);

/// The expected seconds of each item: from `seconds` by its id, else the median of the known items,
/// or one second if none is known.
std::vector<double> expected_seconds(const Plan& plan,
                                     const std::map<std::string, double>& seconds);

}  // namespace lockstep
