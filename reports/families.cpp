#include "reports/families.h"

#include "base/text.h"

namespace lockstep {
namespace {

// A sweep says how inputs are chosen, not what is computed; but sweeps take pointwise operators
// alone, casts and gradients among them.
constexpr Family kFamilies[] = {
    {"sweep", "pointwise sweeps"}, {"transcendental", "transcendental"},
    {"precision-cast", "casts"},   {"reduction", "reductions"},
    {"matmul", "matrix products"}, {"convolution", "convolutions"},
    {"attention", "attention"},    {"normalization", "normalizations"},
    {"pooling", "pooling"},        {"index", "indexing"},
    {"random", "random numbers"},
};

}  // namespace

std::span<const Family> all_families() { return kFamilies; }

std::string_view family_of(const Verdict& verdict) {
  for (const Family& family : kFamilies) {
    if (contains(verdict.tags, family.tag)) return family.name;
  }
  return "others";
}

}  // namespace lockstep
