#include "shrink/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "base/text.h"
#include "cases/fill.h"
#include "program/edit.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// Of larger storages nothing is written out, bytes.
constexpr std::int64_t kMostLiteral = 1 << 20;
/// Elements of a rule that are written out, to be simplified.
constexpr std::int64_t kMostWrittenOut = 16;
/// Elements that are simplified one by one, or in parts.
constexpr std::size_t kMostSimplified = 256;

/// A copy of the case, changed.
template <class Change>
Case changed(const Case& whole, Change&& change) {
  Case copy = whole;
  change(copy);
  return copy;
}

TensorSpec* tensor(InputSpec& input) { return std::get_if<TensorSpec>(&input.value); }
const TensorSpec* tensor(const InputSpec& input) { return std::get_if<TensorSpec>(&input.value); }

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

/// A part of an input, `begin` and `shape`, as literal elements of a contiguous tensor; nothing
/// where it has no storage of its own or too large a one.
std::optional<TensorSpec> literal_part(const InputSpec& input,
                                       const std::vector<std::int64_t>& begin,
                                       const std::vector<std::int64_t>& shape) {
  const TensorSpec* spec = tensor(input);
  if (spec == nullptr || !spec->view_of.empty() || spec->zero_tensor || spec->quantizer ||
      spec->storage_elements * spec->dtype->bytes > kMostLiteral)
    return std::nullopt;
  const std::vector<std::byte> bytes = storage_bytes(*spec, input.name);
  const auto size = static_cast<std::size_t>(spec->dtype->bytes);
  TensorSpec part = *spec;
  part.shape = shape;
  part.strides = contiguous_strides(shape);
  part.offset = 0;
  part.storage_elements = elements_of(shape);
  LiteralFill fill;
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::int64_t k = 0; k < part.storage_elements; ++k) {
    std::int64_t place = spec->offset;
    for (std::size_t d = 0; d < at.size(); ++d) place += (begin[d] + at[d]) * spec->strides[d];
    ElementBits bits;
    const std::byte* from = bytes.data() + static_cast<std::size_t>(place) * size;
    std::memcpy(&bits.low, from, std::min<std::size_t>(size, 8));
    if (size > 8) std::memcpy(&bits.high, from + 8, size - 8);
    fill.elements.push_back(bits);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  part.fill = std::move(fill);
  part.except.clear();
  return part;
}

std::optional<TensorSpec> literal_whole(const InputSpec& input) {
  const TensorSpec* spec = tensor(input);
  if (spec == nullptr) return std::nullopt;
  return literal_part(input, std::vector<std::int64_t>(spec->shape.size(), 0), spec->shape);
}

/// Replaces one int by another in every argument.
struct ReplaceInt : Visitor {
  std::int64_t from = 0, to = 0;
  void value(Value& value) const {
    auto* number = std::get_if<std::int64_t>(&value.is);
    if (number != nullptr && *number == from) *number = to;
  }
};

/// Replaces one dtype by another in every argument.
struct ReplaceDtype : Visitor {
  std::string_view from, to;
  void value(Value& value) const {
    auto* word = std::get_if<Enumeration>(&value.is);
    if (word != nullptr && word->kind == Enumeration::Kind::dtype && word->word == from)
      word->word = to;
  }
};

/// The numbers among the arguments of a program; the one at `at` may be replaced.
struct Numbers : Visitor {
  std::size_t at = 0, seen = 0;
  std::optional<Value> replacement;
  std::vector<Value> found;
  void value(Value& value) {
    if (!std::holds_alternative<std::int64_t>(value.is) && !std::holds_alternative<Float>(value.is))
      return;
    if (replacement && seen == at) value = *replacement;
    found.push_back(value);
    ++seen;
  }
};

/// The value of an element of a floating or an integer dtype.
double number_of(const Dtype& dtype, const ElementBits& bits) {
  if (dtype.is_floating()) return decode_float(dtype, bits.low);
  if (dtype.kind == NumberKind::unsigned_integer) return static_cast<double>(bits.low);
  return static_cast<double>(decode_signed(dtype, bits.low));
}

/// A part of a dimension: so many indices, from the first one on.
struct Window {
  std::int64_t begin = 0, size = 0;
};

/// The parts of a dimension that are tried, around an index.
std::vector<Window> windows(std::int64_t size, std::int64_t around) {
  std::vector<Window> parts;
  const std::int64_t at = std::clamp<std::int64_t>(around, 0, size - 1);
  for (const std::int64_t part : {std::int64_t{1}, std::int64_t{2}, size / 4, size / 2, size - 1}) {
    if (part < 1 || part >= size) continue;
    const bool tried = std::any_of(parts.begin(), parts.end(),
                                   [&](const Window& each) { return each.size == part; });
    if (tried) continue;
    const std::int64_t aligned = std::min(at / part * part, size - part);
    parts.push_back(
        {aligned <= at && at < aligned + part ? aligned : std::min(at, size - part), part});
  }
  return parts;
}

/// The index along dimension `d` of a tensor of `rank` dimensions that broadcasting pairs with
/// `worst` of one of another rank; 0 where there is none.
std::int64_t paired(const std::vector<std::int64_t>& worst, std::size_t rank, std::size_t d) {
  const std::size_t from_behind = rank - d;
  return from_behind <= worst.size() ? worst[worst.size() - from_behind] : 0;
}

/// The case with all dimensions of a size cut to a part, in all inputs or in one of them.
std::optional<Case> cut_dimensions(const Case& whole, std::int64_t size, std::int64_t part,
                                   const std::vector<std::int64_t>& worst, const std::string& only,
                                   bool arguments) {
  Case cut = whole;
  bool any = false;
  for (InputSpec& input : cut.calls.front().inputs) {
    const TensorSpec* spec = tensor(input);
    if (spec == nullptr || (!only.empty() && input.name != only)) continue;
    std::vector<std::int64_t> begin(spec->shape.size(), 0), shape = spec->shape;
    bool here = false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != size) continue;
      for (const Window& window : windows(size, paired(worst, shape.size(), d))) {
        if (window.size != part) continue;
        begin[d] = window.begin;
        shape[d] = part;
        here = true;
      }
    }
    if (!here) continue;
    auto smaller = literal_part(input, begin, shape);
    if (!smaller) return std::nullopt;
    input.value = std::move(*smaller);
    any = true;
  }
  if (!any) return std::nullopt;
  if (arguments) {
    ReplaceInt replace;
    replace.from = size;
    replace.to = part;
    walk(cut.program, replace);
    if (cut.program == whole.program) return std::nullopt;
  }
  return cut;
}

/// A number with so many significant digits.
double shortened(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, digits - 1 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

/// Shorter ways to write a number.
std::vector<Value> plainer_numbers(const Value& number) {
  std::vector<Value> plainer;
  if (const auto* integer = std::get_if<std::int64_t>(&number.is)) {
    for (const std::int64_t other : {0, 1, 2}) {
      if (*integer > other || *integer < -other) plainer.push_back({other});
    }
    return plainer;
  }
  const double value = std::get<Float>(number.is).value;
  for (const double other : {0.0, 1.0, shortened(value, 1), shortened(value, 2)}) {
    const Value known{Float{other}};
    if (other != value && std::find(plainer.begin(), plainer.end(), known) == plainer.end())
      plainer.push_back(known);
  }
  return plainer;
}

/// The case with other elements of an input, where some of them change.
void add_elements(const Case& whole, std::size_t input, const std::vector<ElementBits>& elements,
                  std::vector<Case>& found) {
  Case other = whole;
  TensorSpec& spec = *tensor(other.calls.front().inputs[input]);
  auto& literal = std::get<LiteralFill>(spec.fill);
  const bool same =
      std::equal(elements.begin(), elements.end(), literal.elements.begin(), literal.elements.end(),
                 [](const ElementBits& a, const ElementBits& b) {
                   return a.low == b.low && a.high == b.high;
                 });
  if (same) return;
  literal.elements = elements;
  found.push_back(std::move(other));
}

/// The index of a flat step in its original program, with its contexts.
std::vector<Step> without(const std::vector<FlatStep>& flat, std::size_t at) {
  std::vector<FlatStep> kept = flat;
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at));
  return nest(kept);
}

/// A context that is none, and then without one of several things that it says.
std::vector<Context> lesser(const Context& context) {
  if (context == Context()) return {};
  std::vector<Context> found = {Context()};
  const auto without = [&](auto member) {
    Context less = context;
    less.*member = {};
    if (less != context && less != Context()) found.push_back(std::move(less));
  };
  without(&Context::thread);
  without(&Context::grad);
  without(&Context::inference);
  without(&Context::deterministic_algorithms);
  without(&Context::autocast);
  without(&Context::default_dtype);
  return found;
}

}  // namespace

std::vector<Case> simpler_settings(const Case& whole, bool may_drift) {
  std::vector<Case> found;
  const auto add = [&](auto&& change) { found.push_back(changed(whole, change)); };
  if (may_drift) {
    for (std::size_t call = 0; whole.calls.size() > 1 && call < whole.calls.size(); ++call)
      add([&](Case& c) {
        c.calls = {whole.calls[call]};
        c.program.carry.clear();
      });
    if (whole.calls.size() > 2) add([&](Case& c) { c.calls.resize(2); });
    if (whole.threads != 0) add([](Case& c) { c.threads = 0; });
    if (!whole.compare.empty()) add([](Case& c) { c.compare.clear(); });
  }
  for (std::size_t i = 0; i < whole.program.carry.size(); ++i) {
    add([&](Case& c) {
      c.program.carry.erase(c.program.carry.begin() + static_cast<std::ptrdiff_t>(i));
    });
  }
  for (std::size_t call = 0; call < whole.calls.size(); ++call) {
    for (const Context& less : lesser(whole.calls[call].context))
      add([&](Case& c) { c.calls[call].context = less; });
  }
  if (whole.program.backward) add([](Case& c) { c.program.backward.reset(); });
  if (whole.raises) add([](Case& c) { c.raises.reset(); });
  for (const Context& less : lesser(whole.program.context))
    add([&](Case& c) { c.program.context = less; });
  if (whole.pointwise) add([](Case& c) { c.pointwise = false; });
  if (whole.share) add([](Case& c) { c.share = false; });
  if (whole.seed != 0) add([](Case& c) { c.seed = 0; });
  std::vector<FlatStep> flat = flatten(whole.program.steps);
  if (std::any_of(flat.begin(), flat.end(),
                  [](const auto& each) { return !each.within.empty(); })) {
    for (FlatStep& each : flat) each.within.clear();
    add([&](Case& c) { c.program.steps = nest(flat); });
  }
  for (std::size_t i = 0; i < whole.calls.front().inputs.size(); ++i) {
    const TensorSpec* spec = tensor(whole.calls.front().inputs[i]);
    if (spec == nullptr || whole.calls.size() > 1) continue;
    const auto change = [&](auto member) {
      add([&](Case& c) { tensor(c.calls.front().inputs[i])->*member = false; });
    };
    if (spec->requires_grad) change(&TensorSpec::requires_grad);
    if (spec->conj) change(&TensorSpec::conj);
    if (spec->neg) change(&TensorSpec::neg);
    if (spec->constant) {
      change(&TensorSpec::constant);
      std::erase(found.back().program.constants, whole.calls.front().inputs[i].name);
    }
  }
  return found;
}

std::vector<Case> fewer_outputs(const Case& whole) {
  std::vector<Case> found;
  const Program& program = whole.program;
  for (std::size_t i = 0; program.outputs.size() > 1 && i < program.outputs.size(); ++i) {
    found.push_back(changed(whole, [&](Case& c) {
      c.program.outputs = {program.outputs[i]};
      if (c.program.backward) {
        Backward& backward = *c.program.backward;
        for (std::size_t k = backward.of.size(); k-- > 0;) {
          if (Value{Ref{backward.of[k]}} == program.outputs[i]) continue;
          backward.of.erase(backward.of.begin() + static_cast<std::ptrdiff_t>(k));
          if (backward.with)
            backward.with->erase(backward.with->begin() + static_cast<std::ptrdiff_t>(k));
        }
        if (backward.of.empty()) c.program.backward.reset();
      }
    }));
  }
  const std::vector<FlatStep> flat = flatten(program.steps);
  if (flat.size() < 2 || program.backward) return found;
  const std::vector<std::string> returned = returned_values(program);
  for (std::size_t steps : {flat.size() / 2, flat.size() * 3 / 4, flat.size() - 1}) {
    steps = std::max<std::size_t>(steps, 1);
    std::vector<std::string> outputs;
    std::set<std::string> used;
    const auto kept = std::span(flat).first(steps);
    for (const FlatStep& each : kept) {
      for (const std::string& name : uses_of(each.step)) used.insert(name);
    }
    for (const FlatStep& each : kept) {
      for (const std::string& name : results_of(each.step)) {
        if (!used.contains(name) || contains(returned, name)) outputs.push_back(name);
      }
    }
    if (outputs.empty()) continue;
    found.push_back(changed(whole, [&](Case& c) {
      c.program.steps = nest(kept);
      c.program.outputs = returning(outputs);
      std::erase_if(c.compare, [&](const CompareRule& rule) {
        return !contains(outputs, rule.output) && !contains(c.program.inputs, rule.output);
      });
    }));
  }
  return found;
}

std::vector<Case> cut_steps(const Case& whole, const GivenValues& eager) {
  std::vector<Case> found;
  if (whole.calls.size() > 1) return found;
  const std::vector<FlatStep> flat = flatten(whole.program.steps);
  for (std::size_t part = flat.size() / 2; part > 0; part /= 2) {
    for (std::size_t begin = 0; begin < flat.size(); begin += part) {
      const std::size_t end = std::min(flat.size(), begin + part);
      std::set<std::string> made;
      for (std::size_t i = begin; i < end; ++i) {
        for (const std::string& name : results_of(flat[i].step)) made.insert(name);
      }
      std::vector<FlatStep> kept;
      std::set<std::string> used;
      for (std::size_t i = 0; i < flat.size(); ++i) {
        if (i >= begin && i < end) continue;
        kept.push_back(flat[i]);
        for (const std::string& name : uses_of(flat[i].step)) used.insert(name);
      }
      Case cut = whole;
      bool known = !kept.empty();
      for (const std::string& name : made) {
        if (!used.contains(name)) continue;
        const auto value = eager.of.find(name);
        const auto* view =
            value == eager.of.end() ? nullptr : std::get_if<TensorView>(&value->second);
        auto spec = view == nullptr ? Result<TensorSpec>(fail("")) : spec_of(*view);
        known = known && spec && spec->storage_elements * spec->dtype->bytes <= kMostLiteral;
        if (!known) break;
        cut.program.inputs.push_back(name);
        cut.calls.front().inputs.push_back({name, std::move(*spec)});
      }
      std::erase_if(cut.program.outputs, [&](const Value& output) {
        const auto* ref = std::get_if<Ref>(&output.is);
        return ref != nullptr && made.contains(ref->name);
      });
      if (!known || (cut.program.outputs.empty() && !whole.program.outputs.empty())) continue;
      if (cut.program.backward) {
        const auto& of = cut.program.backward->of;
        if (std::any_of(of.begin(), of.end(),
                        [&](const auto& name) { return made.contains(name); }))
          continue;
      }
      cut.program.steps = nest(kept);
      found.push_back(std::move(cut));
    }
  }
  return found;
}

std::vector<Case> bypassed_steps(const Case& whole, const GivenValues& eager) {
  std::vector<Case> found;
  const std::vector<FlatStep> flat = flatten(whole.program.steps);
  const std::vector<std::string> returned = returned_values(whole.program);
  const auto view_of = [&](const std::string& name) {
    const auto value = eager.of.find(name);
    return value == eager.of.end() ? nullptr : std::get_if<TensorView>(&value->second);
  };
  for (std::size_t i = flat.size(); flat.size() > 1 && i-- > 0;) {
    const std::vector<std::string> results = results_of(flat[i].step);
    if (results.size() != 1 || contains(returned, results[0])) continue;
    const TensorView* result = view_of(results[0]);
    if (result == nullptr) continue;
    for (const std::string& name : uses_of(flat[i].step)) {
      const TensorView* operand = view_of(name);
      if (operand == nullptr || operand->dtype != result->dtype || operand->shape != result->shape)
        continue;
      Case bypassed = whole;
      bypassed.program.steps = without(flat, i);
      substitute(bypassed.program, results[0], {Ref{name}});
      found.push_back(std::move(bypassed));
      break;
    }
  }
  return found;
}

std::vector<Case> narrowed(const Case& whole, const std::vector<std::int64_t>& worst) {
  std::vector<Case> found;
  if (whole.calls.size() > 1 || whole.prepare) return found;
  std::set<std::int64_t, std::greater<>> sizes;
  for (const InputSpec& input : whole.calls.front().inputs) {
    if (const TensorSpec* spec = tensor(input)) {
      for (const std::int64_t size : spec->shape) {
        if (size > 1) sizes.insert(size);
      }
    }
  }
  const auto add = [&](std::optional<Case> cut) {
    if (cut) found.push_back(std::move(*cut));
  };
  for (const std::int64_t size : sizes) {
    for (const Window& part : windows(size, 0)) {
      add(cut_dimensions(whole, size, part.size, worst, "", false));
      add(cut_dimensions(whole, size, part.size, worst, "", true));
      if (whole.calls.front().inputs.size() < 2) continue;
      for (const InputSpec& input : whole.calls.front().inputs)
        add(cut_dimensions(whole, size, part.size, worst, input.name, false));
    }
  }
  return found;
}

std::vector<Case> plainer_layouts(const Case& whole) {
  std::vector<Case> found;
  if (whole.calls.size() > 1 || whole.prepare) return found;
  const std::vector<InputSpec>& inputs = whole.calls.front().inputs;
  Case squeezed = whole;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec* spec = tensor(inputs[i]);
    if (spec == nullptr) continue;
    const bool plain = spec->strides == contiguous_strides(spec->shape) && spec->offset == 0 &&
                       spec->storage_elements == elements_of(spec->shape);
    auto literal = literal_whole(inputs[i]);
    if (!plain && literal)
      found.push_back(changed(whole, [&](Case& c) { c.calls.front().inputs[i].value = *literal; }));
    if (literal && std::find(spec->shape.begin(), spec->shape.end(), 1) != spec->shape.end()) {
      std::erase(literal->shape, 1);
      literal->strides = contiguous_strides(literal->shape);
      squeezed.calls.front().inputs[i].value = std::move(*literal);
      any = true;
    }
  }
  if (any) found.insert(found.begin(), std::move(squeezed));
  return found;
}

const Dtype* plainer_dtype(const Dtype& dtype) {
  if (!dtype.is_floating() && !dtype.is_integer()) return nullptr;
  const Dtype* plain = find_dtype(dtype.is_floating() ? "float32" : "int64");
  return plain == &dtype ? nullptr : plain;
}

std::vector<Case> plainer_dtypes(const Case& whole) {
  std::vector<Case> found;
  const bool bits =
      std::any_of(whole.compare.begin(), whole.compare.end(),
                  [](const CompareRule& rule) { return rule.policy.kind == Policy::Kind::bits; });
  if (bits || whole.calls.size() > 1) return found;
  const auto add = [&](const Dtype& from, bool arguments, const std::string& only) {
    Case other = whole;
    const Dtype& to = *plainer_dtype(from);
    for (InputSpec& input : other.calls.front().inputs) {
      const TensorSpec* spec = tensor(input);
      if (spec == nullptr || spec->dtype != &from || (!only.empty() && input.name != only))
        continue;
      auto plain = literal_whole(input);
      if (!plain) return;
      for (ElementBits& element : std::get<LiteralFill>(plain->fill).elements)
        element = encode_number(to, number_of(from, element));
      plain->dtype = &to;
      input.value = std::move(*plain);
    }
    if (arguments) {
      ReplaceDtype replace{{}, from.name, to.name};
      walk(other.program, replace);
      if (other.program == whole.program) return;
    }
    found.push_back(std::move(other));
  };
  std::set<const Dtype*> odd;
  for (const InputSpec& input : whole.calls.front().inputs) {
    const TensorSpec* spec = tensor(input);
    if (spec == nullptr || plainer_dtype(*spec->dtype) == nullptr) continue;
    if (odd.insert(spec->dtype).second) {
      add(*spec->dtype, true, "");
      add(*spec->dtype, false, "");
    }
    add(*spec->dtype, false, input.name);
  }
  return found;
}

std::vector<Case> simpler_values(const Case& given) {
  std::vector<Case> found;
  if (given.calls.size() > 1) return found;
  Case whole = given;  // with the few elements that a rule makes written out
  for (InputSpec& input : whole.calls.front().inputs) {
    const TensorSpec* spec = tensor(input);
    if (spec == nullptr || elements_of(spec->shape) > kMostWrittenOut ||
        std::holds_alternative<LiteralFill>(spec->fill))
      continue;
    if (auto literal = literal_whole(input)) input.value = std::move(*literal);
  }
  found.push_back(whole);
  for (std::size_t i = 0; i < whole.calls.front().inputs.size(); ++i) {
    const TensorSpec* spec = tensor(whole.calls.front().inputs[i]);
    if (spec == nullptr || !spec->view_of.empty() || spec->zero_tensor || spec->quantizer) continue;
    const Dtype& dtype = *spec->dtype;
    const auto* literal = std::get_if<LiteralFill>(&spec->fill);
    if (literal == nullptr || dtype.kind == NumberKind::opaque) continue;
    const std::vector<ElementBits>& elements = literal->elements;
    for (const double number : {0.0, 1.0}) {
      const ElementBits bits = encode_number(dtype, number);
      add_elements(whole, i, std::vector<ElementBits>(elements.size(), bits), found);
      if (elements.size() < 2 || elements.size() > kMostSimplified) continue;
      for (std::size_t part = elements.size() / 2; part > 0; part /= 2) {
        for (std::size_t begin = 0; begin < elements.size(); begin += part) {
          std::vector<ElementBits> some = elements;
          for (std::size_t k = begin; k < std::min(elements.size(), begin + part); ++k) {
            if (some[k].low != encode_number(dtype, 1).low) some[k] = bits;
          }
          add_elements(whole, i, some, found);
        }
      }
    }
    if (!dtype.is_floating() || elements.size() > kMostSimplified) continue;
    for (int digits = 1; digits < 6; ++digits) {
      std::vector<ElementBits> shorter = elements;
      for (ElementBits& bits : shorter)
        bits.low = encode_float(dtype, shortened(decode_float(dtype, bits.low), digits));
      add_elements(whole, i, shorter, found);
    }
  }
  return found;
}

std::vector<Case> fewer_arguments(const Case& whole) {
  std::vector<Case> found;
  const std::vector<FlatStep> flat = flatten(whole.program.steps);
  const auto arguments_of = [](Step& step) -> Arguments* {
    if (auto* op = std::get_if<OpCall>(&step.does)) return &op->arguments;
    if (auto* call = std::get_if<FunctionCall>(&step.does)) return &call->arguments;
    return nullptr;
  };
  for (std::size_t i = 0; i < flat.size(); ++i) {
    const auto add = [&](auto&& change) {
      std::vector<FlatStep> steps = flat;
      change(*arguments_of(steps[i].step));
      found.push_back(changed(whole, [&](Case& c) { c.program.steps = nest(steps); }));
    };
    Step step = flat[i].step;
    const Arguments* arguments = arguments_of(step);
    if (arguments == nullptr) continue;
    for (std::size_t k = 0; k < arguments->kwargs.size(); ++k) {
      add([&](Arguments& fewer) {
        fewer.kwargs.erase(fewer.kwargs.begin() + static_cast<std::ptrdiff_t>(k));
      });
    }
    if (arguments->args.size() > 1) add([](Arguments& fewer) { fewer.args.pop_back(); });
  }
  Numbers numbers;
  Case given = whole;
  walk(given.program, numbers);
  for (std::size_t at = 0; at < numbers.found.size(); ++at) {
    for (Value& plainer : plainer_numbers(numbers.found[at])) {
      found.push_back(changed(whole, [&](Case& c) {
        Numbers replace;
        replace.at = at;
        replace.replacement = std::move(plainer);
        walk(c.program, replace);
      }));
    }
  }
  return found;
}

Case with_literal_inputs(const Case& whole, const GivenValues& eager) {
  Case literal = whole;
  if (whole.calls.size() > 1) return literal;
  std::vector<std::string> made;
  if (whole.prepare) made = returned_values(whole.prepare->program);
  bool all = true;
  for (const std::string& name : made) {
    const auto value = eager.of.find(name);
    const auto* view = value == eager.of.end() ? nullptr : std::get_if<TensorView>(&value->second);
    auto spec = view == nullptr ? Result<TensorSpec>(fail("")) : spec_of(*view);
    all = all && spec && spec->storage_elements * spec->dtype->bytes <= kMostLiteral;
    if (!all) return whole;
    spec->requires_grad = contains(whole.prepare->requires_grad, name);
    literal.calls.front().inputs.push_back({name, std::move(*spec)});
  }
  literal.prepare.reset();
  return literal;
}

}  // namespace lockstep
