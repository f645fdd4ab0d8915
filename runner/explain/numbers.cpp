#include "explain/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "judge/numerics/gold.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

namespace lockstep {
namespace {

using Index = std::vector<std::int64_t>;

/// One element, with conjugation and negation resolved.
template <class Visit>
void at_element(const TensorView& view, const Index& at, Visit&& visit) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < view.shape.size(); ++d) flat = flat * view.shape[d] + at[d];
  const std::array<const TensorView*, 1> views = {&view};
  TensorWalk(views, TensorWalk::Order::index)
      .visit(flat, flat + 1,
             [&](std::int64_t, std::int64_t, const auto& blocks) { visit(blocks[0]); });
}

bool reaches(const TensorView& view, const Index& at) {
  if (view.shape.size() != at.size() || view.elements() == 0) return false;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= view.shape[d]) return false;
  }
  return true;
}

std::string text_at(const GivenValues& values, const std::string& name, const Index& at) {
  const TensorView* view = tensor_in(values, name);
  if (view == nullptr || view->dtype == nullptr || !reaches(*view, at)) return "";
  std::string text;
  at_element(*view, at,
             [&](const std::byte* element) { text = format_element(*view->dtype, element); });
  return text;
}

/// The element as a number; nothing if it is none.
std::optional<double> number_at(const GivenValues& values, const std::string& name,
                                const Index& at) {
  const TensorView* view = tensor_in(values, name);
  if (view == nullptr || view->dtype == nullptr || !reaches(*view, at)) return std::nullopt;
  if (!view->dtype->is_floating() && !view->dtype->is_integer()) return std::nullopt;
  double number = 0;
  at_element(*view, at,
             [&](const std::byte* element) { decode_block(*view->dtype, element, 1, &number); });
  return number;
}

/// The index in `shape` that broadcasting pairs with `at` of `of`.
std::optional<Index> paired(const std::vector<std::int64_t>& shape, const Index& at,
                            const std::vector<std::int64_t>& of) {
  if (shape.size() > of.size()) return std::nullopt;
  Index index(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t there = of.size() - shape.size() + d;
    if (shape[d] != 1 && shape[d] != of[there]) return std::nullopt;
    index[d] = shape[d] == 1 ? 0 : at[there];
  }
  return index;
}

/// The first element that differs, or the first one.
Index first_difference(const TensorView& eager, const TensorView* compiled) {
  Index first(eager.shape.size(), 0);
  if (compiled == nullptr || compiled->shape != eager.shape || compiled->dtype != eager.dtype)
    return first;
  const std::array<const TensorView*, 2> views = {&eager, compiled};
  const TensorWalk walk(views, TensorWalk::Order::index);
  bool found = false;
  walk.visit(0, walk.elements(), [&](std::int64_t at, std::int64_t count, const auto& blocks) {
    for (std::int64_t k = 0; k < count && !found; ++k) {
      const std::int64_t byte = k * eager.dtype->bytes;
      found = !same_element(*eager.dtype, blocks[0] + byte, blocks[1] + byte);
      if (found) first = walk.index_of(at + k);
    }
  });
  return first;
}

/// Whether `number` is what `gold` is once it is rounded to the dtype of `of`.
bool is_rounded(const GivenValues& values, const std::string& name, const Index& at,
                const std::optional<double>& gold) {
  const TensorView* view = tensor_in(values, name);
  const std::optional<double> number = number_at(values, name, at);
  if (view == nullptr || !number || !gold) return false;
  if (std::isnan(*number) || std::isnan(*gold)) return std::isnan(*number) && std::isnan(*gold);
  if (!view->dtype->is_floating()) return *number == *gold;
  return *number == decode_float(*view->dtype, encode_float(*view->dtype, *gold));
}

}  // namespace

void read_numbers(const Suspect& suspect, const SeenValues& seen, Explanation& explanation) {
  // The place to look at: the worst element of the faulty output. If that leads nowhere, the first
  // element of the accused step that differs.
  struct Anchor {
    std::string name;
    const TensorView* tensor;
    Index at;
  };
  std::vector<Anchor> anchors;
  const OutputComparison* output =
      comparison_of(suspect.verdict, suspect.fault.name, suspect.fault.call);
  const TensorView* worst = tensor_in(seen.eager, suspect.fault.value());
  if (output != nullptr && worst != nullptr && reaches(*worst, output->worst))
    anchors.push_back({suspect.fault.value(), worst, output->worst});
  if (!explanation.guilty.empty()) {
    const std::string& name = explanation.steps[explanation.guilty.back()].name;
    const TensorView* accused = tensor_in(seen.eager, name);
    if (accused != nullptr && accused->elements() > 0)
      anchors.push_back(
          {name, accused, first_difference(*accused, tensor_in(seen.compiled, name))});
  }
  for (ExplainedStep& step : explanation.steps) {
    const TensorView* view = tensor_in(seen.eager, step.name);
    if (view == nullptr || view->dtype == nullptr) continue;
    step.type = describe(DataValue(*view));
    if (view->elements() == 0) continue;
    std::optional<Index> at;
    for (const Anchor& anchor : anchors) {
      if (!at) at = paired(view->shape, anchor.at, anchor.tensor->shape);
    }
    step.at = at ? *at : first_difference(*view, tensor_in(seen.compiled, step.name));
    step.eager = text_at(seen.eager, step.name, step.at);
    step.compiled = text_at(seen.compiled, step.name, step.at);
    step.fp64 = text_at(seen.fp64, step.name, step.at);
    step.stepwise = text_at(seen.stepwise, step.name, step.at);
  }
  if (anchors.empty()) return;
  const auto& [subject, tensor, at] = anchors.front();
  for (const auto& [gold, values] :
       {std::pair{"fp64", &seen.fp64}, std::pair{"stepwise", &seen.stepwise}}) {
    const std::optional<double> truth = number_at(*values, subject, at);
    if (is_rounded(seen.eager, subject, at, truth))
      explanation.agrees_with_eager.emplace_back(gold);
    if (is_rounded(seen.compiled, subject, at, truth))
      explanation.agrees_with_compiled.emplace_back(gold);
  }
}

}  // namespace lockstep
