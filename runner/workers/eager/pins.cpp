#include "workers/eager/pins.h"

#include <ATen/Context.h>

#include <cstdlib>
#include <string_view>
#include <type_traits>

namespace lockstep::eager {
namespace {

constexpr const char* kWorkspace = "CUBLAS_WORKSPACE_CONFIG";

/// torch 2.10 and later say how a reduction may be made, those before whether.
template <class Allowed>
bool is_allowed(Allowed allowed) {
  if constexpr (std::is_same_v<Allowed, bool>) return allowed;
  return allowed == Allowed{0};
}

}  // namespace

void pin() {
  const char* const chosen = std::getenv("LOCKSTEP_PINS");
  if (chosen != nullptr && std::string_view(chosen) == "off") return;
  ::setenv(kWorkspace, ":4096:8", /*overwrite=*/0);
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setAllowFP16ReductionCuBLAS(false);
  context.setAllowBF16ReductionCuBLAS(false);
  context.setAllowFP16AccumulationCuBLAS(false);
}

nlohmann::ordered_json pins() {
  const at::Context& context = at::globalContext();
  const char* const workspace = std::getenv(kWorkspace);
  return {{"pin cublas_tf32", context.allowTF32CuBLAS()},
          {"pin cudnn_tf32", context.allowTF32CuDNN()},
          {"pin cudnn_deterministic", context.deterministicCuDNN()},
          {"pin cudnn_benchmark", context.benchmarkCuDNN()},
          {"pin cublas_fp16_reduction", is_allowed(context.allowFP16ReductionCuBLAS())},
          {"pin cublas_bf16_reduction", is_allowed(context.allowBF16ReductionCuBLAS())},
          {"pin cublas_fp16_accumulation", context.allowFP16AccumulationCuBLAS()},
          {"pin cublas_workspace", workspace == nullptr ? "" : workspace}};
}

}  // namespace lockstep::eager
