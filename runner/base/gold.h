#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "base/enum_table.h"

namespace lockstep {

/// A gold: the program of a case executed in higher precision, or samples of such an execution with
/// errors added (docs/design/protocol.md).
enum class Gold { fp64, mpfr, perturbed, stepwise, fp64_noise, stepwise_noise };

/// Where the judge asks for a gold, of an output that is not close to eager or does not conform.
enum class GoldAsked {
  always,
  pointwise,     ///< of a pointwise case
  read,          ///< where the policy reads it
  failing,       ///< where `of` is there and has not made it conform; of no pointwise case
  failing_read,  ///< likewise, and the policy reads `of`
};

/// Everything that depends on a gold alone, but who computes it and who reads it.  The table in
/// gold.cpp is its only home.
struct GoldInfo {
  Gold gold;
  std::string_view name;  ///< `mode` of a request to a worker
  Gold of;                ///< what it says more of; itself: it stands alone
  bool wide;              ///< every tensor is float64 from the start
  bool samples;           ///< several executions, each with errors drawn by chance
  bool better;            ///< where it returned it is taken in the place of `of`
  GoldAsked asked;
  bool saved;  ///< `run --save-tensors` writes its tensors beside the sides'
  std::string_view meaning;
};

/// All golds in the order of the enumeration.
std::span<const GoldInfo> all_golds();
const GoldInfo& info(Gold gold);
/// The gold of that name, or nothing.
std::optional<Gold> find_gold(std::string_view name);

/// Something for each gold.
template <class Value>
class PerGold {
 public:
  constexpr Value& operator[](Gold gold) { return values_[static_cast<std::size_t>(gold)]; }
  constexpr const Value& operator[](Gold gold) const {
    return values_[static_cast<std::size_t>(gold)];
  }
  bool operator==(const PerGold&) const = default;

 private:
  std::array<Value, enumerators<Gold>()> values_{};
};

/// Some golds.
using GoldSet = PerGold<bool>;

constexpr GoldSet gold_set(std::initializer_list<Gold> golds) {
  GoldSet set;
  for (const Gold gold : golds) set[gold] = true;
  return set;
}

}  // namespace lockstep
