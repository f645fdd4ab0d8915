#include "cases/fresh.h"

#include <string_view>

#include "base/splitmix.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

/// A number that hangs on the seed and on a name.
std::uint64_t number_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t state = seed;
  for (const char c : name) state = splitmix64(state) ^ static_cast<unsigned char>(c);
  return splitmix64(state);
}

/// Whether a tensor becomes another one.
bool draw(TensorSpec& spec, std::uint64_t number) {
  if (spec.zero_tensor || spec.quantizer) return false;
  if (auto* rule = std::get_if<RuleFill>(&spec.fill); rule != nullptr && rule->rule->seeded) {
    rule->seed ^= number;
    return true;
  }
  if (!spec.dtype->is_floating() && !spec.dtype->is_complex()) return false;
  constexpr std::uint64_t kSteps = 128;
  spec.scale = static_cast<double>(kSteps + number % kSteps) / (2 * kSteps);
  return true;
}

}  // namespace

std::optional<Case> fresh_case(const Case& declared, std::uint64_t seed) {
  Case fresh = declared;
  bool other = fresh.random || fresh.prepare.has_value();
  std::uint64_t at = 0;
  for (CallSpec& call : fresh.calls) {
    for (InputSpec& input : call.inputs) {
      auto* spec = std::get_if<TensorSpec>(&input.value);
      // What shares a storage has its elements from another one.
      if (spec == nullptr || !spec->view_of.empty()) continue;
      other = draw(*spec, number_of(seed + at, input.name)) || other;
    }
    ++at;
  }
  if (!other) return std::nullopt;
  // Seeds go to torch, which takes 63 bits.
  fresh.seed = (fresh.seed + number_of(seed, "program")) & 0x7fffffff;
  if (fresh.prepare)
    fresh.prepare->seed = (fresh.prepare->seed + number_of(seed, "prepare")) & 0x7fffffff;
  return fresh;
}

}  // namespace lockstep
