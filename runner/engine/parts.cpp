#include "engine/parts.h"

#include <algorithm>

namespace lockstep {

Observation join_parts(const Observation& before, Observation last) {
  for (const auto& [stage, seconds] : before.phases) last.phases[stage] += seconds;
  last.peak_memory_bytes = std::max(last.peak_memory_bytes, before.peak_memory_bytes);
  if (last.proof.is_null()) last.proof = before.proof;
  if (!last.reference && before.reference) last.reference = before.reference;
  // Views of the reference point into them.
  last.storages.insert(last.storages.end(), before.storages.begin(), before.storages.end());
  last.stderr_tail = before.stderr_tail + last.stderr_tail;
  return last;
}

}  // namespace lockstep
