#include "verdict/status.h"

#include <array>

namespace lockstep {
namespace {

using enum Status;

constexpr std::array kStatuses = {
    StatusInfo{conform, "conform", "conform", false, false, JunitElement::pass, 6,
               "agrees with eager under the policy, or both raise"},
    StatusInfo{value_differs, "value_differs", "value differs", true, true, JunitElement::failure,
               2, "an output's values are outside the policy"},
    StatusInfo{nonfinite_differs, "nonfinite_differs", "non-finite differs", true, true,
               JunitElement::failure, 1,
               "NaN or infinity where the other side has none, or another one"},
    StatusInfo{metadata_differs, "metadata_differs", "metadata differs", true, true,
               JunitElement::failure, 0,
               "dtype, shape, strides, device, layout, requires_grad or aliasing differ"},
    StatusInfo{mutation_differs, "mutation_differs", "mutation differs", true, true,
               JunitElement::failure, 3, "an input is left behind in another state"},
    StatusInfo{validation_lost, "validation_lost", "validation lost", true, true,
               JunitElement::failure, 6, "eager raises, the compiled program accepts"},
    StatusInfo{spurious_error, "spurious_error", "spurious error", true, true,
               JunitElement::failure, 6, "eager accepts, the compiled program raises"},
    StatusInfo{internal_error, "internal_error", "internal error", true, true,
               JunitElement::failure, 6, "the compiler itself failed"},
    StatusInfo{crash, "crash", "crash", true, true, JunitElement::error, 6, "the process died"},
    StatusInfo{timeout, "timeout", "time-out", true, true, JunitElement::error, 6,
               "not done in the time allowed"},
    StatusInfo{oom, "oom", "out of memory", true, true, JunitElement::error, 6,
               "ended by a memory limit or the kernel"},
    StatusInfo{worker_lost, "worker_lost", "worker lost", true, true, JunitElement::error, 6,
               "the worker died or broke the protocol"},
    StatusInfo{not_compiled, "not_compiled", "not compiled", true, true, JunitElement::error, 4,
               "there is no proof that the compiler saw the program"},
    StatusInfo{harness, "harness", "harness", true, true, JunitElement::error, 6,
               "the two eager executions disagree: nothing is said of the compiler"},
    StatusInfo{refused, "refused", "refused", false, false, JunitElement::skipped, 6,
               "the compiler says that it does not support this"},
    StatusInfo{extension, "extension", "extension", false, false, JunitElement::skipped, 6,
               "eager has no implementation, the compiled program does"},
    StatusInfo{unsupported, "unsupported", "unsupported", false, false, JunitElement::skipped, 6,
               "this device, dtype, operator, layout or torch lacks what the case needs"},
    StatusInfo{inconclusive, "inconclusive", "inconclusive", false, true, JunitElement::skipped, 5,
               "eager disagrees with itself"},
};

consteval bool in_order() {
  for (std::size_t i = 0; i < kStatuses.size(); ++i) {
    if (static_cast<std::size_t>(kStatuses[i].status) != i) return false;
  }
  return kStatuses.size() == static_cast<std::size_t>(inconclusive) + 1;
}
static_assert(in_order());

}  // namespace

std::span<const StatusInfo> all_statuses() { return kStatuses; }

const StatusInfo& info(Status status) { return kStatuses[static_cast<std::size_t>(status)]; }

const StatusInfo* find_status(std::string_view name) {
  for (const StatusInfo& status : kStatuses) {
    if (status.name == name) return &status;
  }
  return nullptr;
}

}  // namespace lockstep
