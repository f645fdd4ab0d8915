#include "explain/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "paths/needs.h"
#include "program/edit.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// Collects the names that a step uses and defines.
/// The names of a step, those that it uses each once.
OuterNames names_of(const Step& step) {
  OuterNames names;
  walk(step, names);
  std::vector<std::string> once;
  for (std::string& name : names.used) {
    if (!contains(once, name)) once.push_back(std::move(name));
  }
  names.used = std::move(once);
  return names;
}

void flatten_into(const std::vector<Step>& steps, const std::vector<Context>& within,
                  std::vector<FlatStep>& flat) {
  for (const Step& step : steps) {
    if (const auto* block = std::get_if<WithBlock>(&step.does)) {
      std::vector<Context> inner = within;
      inner.push_back(block->context);
      flatten_into(block->steps, inner, flat);
    } else {
      flat.push_back({step, within});
    }
  }
}

/// Those of `steps` that are as deep as `depth` under the same contexts, as a list.
std::vector<Step> nest_from(std::span<const FlatStep> steps, std::size_t depth) {
  std::vector<Step> list;
  for (std::size_t i = 0; i < steps.size();) {
    if (steps[i].within.size() <= depth) {
      list.push_back(steps[i++].step);
      continue;
    }
    std::size_t end = i + 1;
    while (end < steps.size() && steps[end].within.size() > depth &&
           steps[end].within[depth] == steps[i].within[depth])
      ++end;
    list.push_back(
        {{}, WithBlock{steps[i].within[depth], nest_from(steps.subspan(i, end - i), depth + 1)}});
    i = end;
  }
  return list;
}

/// Elements that a view reaches from its first one on.
std::int64_t span_of(const TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0) return 0;
    last += (view.shape[d] - 1) * view.strides[d];
  }
  return last + 1;
}

/// The value that a program reads as a scalar; nothing if it is none.
std::optional<Value> scalar_of(const ScalarValue& value) {
  return std::visit(
      [](const auto& is) -> std::optional<Value> {
        using T = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<T, double>) {
          return Value{Float{is}};
        } else if constexpr (std::is_same_v<T, std::complex<double>>) {
          return Value{Complex{{is.real()}, {is.imag()}}};
        } else if constexpr (std::is_same_v<T, ListOf>) {
          return std::nullopt;
        } else {
          return Value{is};
        }
      },
      value);
}

/// Makes the inputs of a part of a program of known values.
class InputMaker {
 public:
  InputMaker(const GivenValues& values, Program& program) : values_(values), program_(program) {
    taken_ = defined_names(program);
  }

  /// Has the program take `name` as an input.
  Result<void> add(const std::string& name) {
    const auto found = values_.of.find(name);
    if (found == values_.of.end()) return fail(fmt::format("the value of `{}` is not known", name));
    if (const auto* view = std::get_if<TensorView>(&found->second)) {
      auto spec = spec_of(*view);
      if (!spec) return tl::unexpected(spec.error());
      put(name, std::move(*spec));
      return {};
    }
    const ScalarValue& scalar = std::get<ScalarValue>(found->second);
    if (const auto value = scalar_of(scalar)) {
      // Case files have no other scalars as inputs; any other scalar is written where it is used.
      const bool fits = std::holds_alternative<bool>(value->is) ||
                        std::holds_alternative<std::int64_t>(value->is) ||
                        std::holds_alternative<Float>(value->is);
      if (fits) {
        put(name, *value);
      } else {
        substitute(program_, name, *value);
      }
      return {};
    }
    Value::List list;
    for (std::size_t i = 0; i < std::get<ListOf>(scalar).size; ++i) {
      const auto element = values_.of.find(fmt::format("{}[{}]", name, i));
      const auto* view =
          element == values_.of.end() ? nullptr : std::get_if<TensorView>(&element->second);
      if (view == nullptr)
        return fail(fmt::format("element {} of the list `{}` is no tensor", i, name));
      auto spec = spec_of(*view);
      if (!spec) return tl::unexpected(spec.error());
      const std::string each = free_name(fmt::format("{}_{}", name, i), taken_);
      put(each, std::move(*spec));
      list.push_back({Ref{each}});
    }
    substitute(program_, name, {std::move(list)});
    return {};
  }

  CallSpec take() { return std::move(call_); }

 private:
  void put(const std::string& name, std::variant<TensorSpec, Value> value) {
    program_.inputs.push_back(name);
    call_.inputs.push_back({name, std::move(value)});
  }

  const GivenValues& values_;
  Program& program_;
  std::set<std::string> taken_;
  CallSpec call_;
};

/// Asks outputs to have the same bits, which is what a policy is that nobody says more of.
void ask_for_bits(Case& declared, const std::vector<std::string>& outputs) {
  for (const std::string& name : outputs) declared.compare.push_back({name, "*", Policy()});
}

}  // namespace

std::vector<FlatStep> flatten(const std::vector<Step>& steps) {
  std::vector<FlatStep> flat;
  flatten_into(steps, {}, flat);
  return flat;
}

std::vector<Step> nest(std::span<const FlatStep> steps) { return nest_from(steps, 0); }

std::vector<std::string> results_of(const Step& step) { return names_of(step).defined; }

std::vector<std::string> uses_of(const Step& step) { return names_of(step).used; }

bool writes(const Step& step, const Registry* registry) {
  Case alone;
  alone.calls.emplace_back();
  alone.program.steps = {step};
  return needs_of(alone, "cpu", registry).features.contains(Feature::mutation);
}

void GivenValues::add(const Observation& observation, std::size_t call, bool inputs) {
  if (observation.repetitions.empty() || call >= observation.repetitions.front().size()) return;
  const CallResult& result = observation.repetitions.front()[call];
  if (inputs) {
    for (const auto& [name, value] : result.inputs) of.insert_or_assign(name, value);
  }
  for (const auto& [name, value] : result.outputs) of.insert_or_assign(name, value);
  storages.insert(storages.end(), observation.storages.begin(), observation.storages.end());
}

const TensorView* tensor_in(const GivenValues& values, const std::string& name) {
  const auto found = values.of.find(name);
  return found == values.of.end() ? nullptr : std::get_if<TensorView>(&found->second);
}

Result<TensorSpec> spec_of(const TensorView& view) {
  if (view.layout != "strided" || view.dtype == nullptr)
    return fail(fmt::format("found a tensor of the layout {}, expected strided", view.layout));
  TensorSpec spec;
  spec.dtype = view.dtype;
  spec.shape = view.shape;
  spec.strides = view.strides;
  spec.storage_elements = span_of(view);
  spec.conj = view.conj;
  spec.neg = view.neg;
  spec.quantizer = view.quantizer;
  LiteralFill fill;
  fill.elements.resize(static_cast<std::size_t>(spec.storage_elements));
  const auto size = static_cast<std::size_t>(view.dtype->bytes);
  const std::byte* from = view.bytes.data() + static_cast<std::size_t>(view.offset) * size;
  for (ElementBits& element : fill.elements) {
    std::memcpy(&element.low, from, std::min<std::size_t>(size, 8));
    if (size > 8) std::memcpy(&element.high, from + 8, size - 8);
    from += size;
  }
  spec.fill = std::move(fill);
  return spec;
}

Result<Case> part_of(const Case& whole, std::span<const FlatStep> steps,
                     const std::vector<std::string>& outputs, const GivenValues& values,
                     bool strict, std::size_t call) {
  Case part = whole;
  part.prepare.reset();
  part.raises.reset();
  part.compare.clear();
  part.pointwise = false;
  part.program = Program{};
  part.program.context = whole.program.context;
  part.program.steps = nest(steps);
  part.program.outputs = returning(outputs);
  std::vector<std::string> made, needed;
  for (const FlatStep& each : steps) {
    for (std::string& name : uses_of(each.step)) {
      if (!contains(made, name) && !contains(needed, name)) needed.push_back(std::move(name));
    }
    for (std::string& name : results_of(each.step)) made.push_back(std::move(name));
  }
  InputMaker inputs(values, part.program);
  for (const std::string& name : needed) {
    if (auto added = inputs.add(name); !added) return tl::unexpected(added.error());
  }
  part.calls = {inputs.take()};
  if (call < whole.calls.size()) part.calls.front().context = whole.calls[call].context;
  if (strict) ask_for_bits(part, outputs);
  note_operators(part);
  return part;
}

Result<Case> replace_by_values(const Case& whole, std::span<const FlatStep> kept,
                               const std::vector<std::string>& given, const GivenValues& values) {
  Case replaced = whole;
  replaced.program.steps = nest(kept);
  std::vector<std::string> used = returned_values(replaced.program);
  for (const FlatStep& each : kept) {
    for (std::string& name : uses_of(each.step)) used.push_back(std::move(name));
  }
  InputMaker inputs(values, replaced.program);
  for (const std::string& name : given) {
    if (!contains(used, name)) continue;
    if (auto added = inputs.add(name); !added) return tl::unexpected(added.error());
  }
  for (InputSpec& each : inputs.take().inputs)
    replaced.calls.front().inputs.push_back(std::move(each));
  replaced.pointwise = false;
  note_operators(replaced);
  return replaced;
}

Observed observe(const Case& whole, const std::vector<std::string>& names, bool strict,
                 const Registry* registry) {
  Observed observed{whole, {}};
  Program& program = observed.declared.program;
  std::vector<FlatStep> flat = flatten(program.steps);
  const bool any_writes = std::any_of(
      flat.begin(), flat.end(), [&](const FlatStep& each) { return writes(each.step, registry); });
  std::set<std::string> taken = defined_names(program);
  const std::vector<std::string> returned = returned_values(program);
  std::vector<std::string> added;
  std::vector<FlatStep> steps;
  for (FlatStep& each : flat) {
    const std::vector<std::string> results = results_of(each.step);
    const std::vector<Context> within = each.within;
    steps.push_back(std::move(each));
    for (const std::string& name : results) {
      if (!contains(names, name)) continue;
      std::string& seen = observed.seen_as[name] = name;
      if (any_writes) {
        seen = free_name(name + "_seen", taken);
        steps.push_back({{{seen}, OpCall{"aten::clone.default", {{{Ref{name}}}, {}}}}, within});
      }
      if (contains(returned, seen)) continue;
      program.outputs.push_back({Ref{seen}});
      added.push_back(seen);
    }
  }
  program.steps = nest(steps);
  if (strict) ask_for_bits(observed.declared, added);
  observed.declared.pointwise = false;
  note_operators(observed.declared);
  return observed;
}

std::vector<std::string> operators_of(std::span<const FlatStep> steps) {
  std::vector<std::string> names;
  for (const FlatStep& each : steps) {
    const auto* op = std::get_if<OpCall>(&each.step.does);
    const auto* call = std::get_if<FunctionCall>(&each.step.does);
    if (op == nullptr && call == nullptr) continue;
    const std::string& name = op != nullptr ? op->op : call->function;
    if (!contains(names, name)) names.push_back(name);
  }
  return names;
}

void note_operators(Case& declared) {
  declared.operators = operators_of(flatten(declared.program.steps));
}

std::string free_name(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}{}", wanted, i);
  return name;
}

}  // namespace lockstep
