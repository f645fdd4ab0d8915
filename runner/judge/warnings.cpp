#include "judge/warnings.h"

#include <algorithm>
#include <set>

namespace lockstep {
namespace {

/// The repetition from 0 that is compared; 0: none.
std::size_t compared_repetition(const Observation& eager, const Observation& compiled,
                                std::size_t reseeded) {
  std::size_t at = std::min(eager.repetitions.size(), compiled.repetitions.size());
  if (at > 0) --at;
  if (at > 0 && at == reseeded) --at;
  return at;
}

std::vector<std::string> only_in(const std::set<std::string>& some,
                                 const std::set<std::string>& others) {
  constexpr std::size_t kMost = 16;
  std::vector<std::string> only;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(),
                      std::back_inserter(only));
  if (only.size() > kMost) only.resize(kMost);
  return only;
}

}  // namespace

std::optional<Warnings> compare_warnings(const Observation& compiled, std::size_t reseeded) {
  const Observation* eager = compiled.reference.get();
  if (eager == nullptr) return {};
  const std::size_t at = compared_repetition(*eager, compiled, reseeded);
  if (at == 0) return {};
  const Repetition& expected = eager->repetitions[at];
  const Repetition& made = compiled.repetitions[at];
  std::set<std::string> said, heard;
  for (std::size_t c = 0; c < std::min(expected.size(), made.size()); ++c) {
    if (!expected[c].warnings || !made[c].warnings) continue;
    said.insert(expected[c].warnings->begin(), expected[c].warnings->end());
    heard.insert(made[c].warnings->begin(), made[c].warnings->end());
  }
  if (said.empty() && heard.empty()) return {};
  const auto same = static_cast<std::size_t>(std::count_if(
      said.begin(), said.end(), [&](const std::string& each) { return heard.contains(each); }));
  return Warnings{same, only_in(said, heard), only_in(heard, said)};
}

}  // namespace lockstep
