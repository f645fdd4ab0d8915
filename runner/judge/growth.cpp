#include "judge/growth.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

namespace lockstep {
namespace {

/// How far an output is off; infinity where NaN or infinity differs.
double distance(const OutputComparison& output) {
  if (output.differing == 0) return 0;
  return output.max_abs.value_or(std::numeric_limits<double>::infinity());
}

/// Notes the outputs of one execution, which have their calls in their names: "loss, call 3".
void note(const Findings& found, std::vector<double> Growth::*curve,
          std::map<std::string, Growth>& by_output) {
  constexpr std::string_view kCall = ", call ";
  for (const OutputComparison& output : found.outputs) {
    const std::size_t at = output.name.rfind(kCall);
    if (at == std::string::npos || is_input(output.name)) continue;
    std::size_t call = 0;
    const std::string_view number = std::string_view(output.name).substr(at + kCall.size());
    if (std::from_chars(number.begin(), number.end(), call).ec != std::errc() || call == 0)
      continue;
    Growth& of = by_output[output.name.substr(0, at)];
    auto& distances = of.*curve;
    if (distances.size() < call) distances.resize(call, 0);
    distances[call - 1] = distance(output);
  }
}

bool moves(const std::vector<double>& curve) {
  return std::any_of(curve.begin(), curve.end(), [](double each) { return each != 0; });
}

}  // namespace

std::vector<Growth> growth_of(const Findings& free, const Findings& restarted) {
  std::map<std::string, Growth> by_output;
  note(free, &Growth::free, by_output);
  note(restarted, &Growth::restarted, by_output);
  std::vector<Growth> found;
  for (auto& [output, growth] : by_output) {
    if (!moves(growth.free) && !moves(growth.restarted)) continue;
    growth.output = output;
    found.push_back(std::move(growth));
  }
  return found;
}

}  // namespace lockstep
