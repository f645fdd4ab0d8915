#include "cases/fresh.h"

#include "base/splitmix.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

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
      other = draw(*spec, mixed(seed + at, input.name)) || other;
    }
    ++at;
  }
  if (!other) return std::nullopt;
  // Seeds go to torch, which takes 63 bits.
  fresh.seed = (fresh.seed + mixed(seed, "program")) & 0x7fffffff;
  if (fresh.prepare)
    fresh.prepare->seed = (fresh.prepare->seed + mixed(seed, "prepare")) & 0x7fffffff;
  return fresh;
}

}  // namespace lockstep
