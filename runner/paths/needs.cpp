#include "paths/needs.h"

#include <algorithm>

#include "base/text.h"
#include "paths/globs.h"
#include "program/visit.h"

namespace lockstep {
namespace {

void remember(std::vector<std::string>& words, std::string_view word) {
  if (!contains(words, word)) words.emplace_back(word);
}

/// Whether an operator writes to an argument.
bool mutates(const std::string& op, const Registry* registry) {
  const Overload* overload = registry == nullptr ? nullptr : registry->find_overload(op);
  if (overload == nullptr) return std::string_view(op).substr(0, op.rfind('.')).ends_with('_');
  return overload->mutates();
}

/// The same of a public function, whose schema nobody has.
bool mutates(const FunctionCall& call) {
  std::string_view name = call.function;
  if (const std::size_t space = name.find("::"); space != std::string_view::npos)
    name = name.substr(space + 2, name.find('.', space) - space - 2);
  else
    name = name.substr(name.rfind('.') + 1);
  if (name.ends_with("__")) {  // Python's own: `a += b` is __iadd__
    return name == "__setitem__" || (name.starts_with("__i") && name != "__index__" &&
                                     name != "__int__" && name != "__invert__");
  }
  return name.ends_with('_') ||
         std::any_of(call.arguments.kwargs.begin(), call.arguments.kwargs.end(),
                     [](const auto& argument) {
                       const bool* flag = std::get_if<bool>(&argument.second.is);
                       return (argument.first == "out" && !argument.second.is_none()) ||
                              (argument.first == "inplace" && flag != nullptr && *flag);
                     });
}

/// Collects what the steps of a program need.
struct Collector : Visitor {
  Needs& needs;
  const Registry* registry;

  Collector(Needs& into, const Registry* operators) : needs(into), registry(operators) {}

  void dtype(std::string_view name) {
    remember(needs.dtypes, name);
    const Dtype* known = find_dtype(name);
    if (known != nullptr && known->is_complex()) needs.features.insert(Feature::complex);
  }
  void tensor(const TensorSpec& spec) {
    if (spec.dtype != nullptr) dtype(spec.dtype->name);
    if (spec.requires_grad) needs.features.insert(Feature::gradients);
  }
  void context(const Context& context) {
    if (context.autocast) dtype(context.autocast->dtype);
    if (context.default_dtype) dtype(*context.default_dtype);
  }
  void step(const Step& step) {
    if (const auto* op = std::get_if<OpCall>(&step.does);
        op != nullptr && mutates(op->op, registry))
      needs.features.insert(Feature::mutation);
    if (const auto* call = std::get_if<FunctionCall>(&step.does); call != nullptr && mutates(*call))
      needs.features.insert(Feature::mutation);
    if (std::holds_alternative<SetItem>(step.does)) needs.features.insert(Feature::mutation);
    if (std::holds_alternative<GradCall>(step.does)) needs.features.insert(Feature::gradients);
    if (const auto* apply = std::get_if<ApplyCall>(&step.does);
        apply != nullptr && (apply->name == "grad" || apply->name == "jvp"))
      needs.features.insert(Feature::gradients);
    if (const auto* block = std::get_if<WithBlock>(&step.does)) context(block->context);
  }
  void value(const Value& value) {
    if (std::holds_alternative<Complex>(value.is)) needs.features.insert(Feature::complex);
    const auto* word = std::get_if<Enumeration>(&value.is);
    if (word != nullptr && word->kind == Enumeration::Kind::dtype) dtype(word->word);
  }
};

/// Whether two calls give a name a tensor of another shape, or another number.
bool vary(const InputSpec& a, const InputSpec& b) {
  const auto* left = std::get_if<TensorSpec>(&a.value);
  const auto* right = std::get_if<TensorSpec>(&b.value);
  if (left != nullptr && right != nullptr) return left->shape != right->shape;
  return left != nullptr || right != nullptr ||
         std::get<Value>(a.value) != std::get<Value>(b.value);
}

bool calls_vary(const Case& declared) {
  const std::vector<InputSpec>& first = declared.calls.front().inputs;
  return std::any_of(declared.calls.begin() + 1, declared.calls.end(), [&](const CallSpec& call) {
    return !std::equal(
        call.inputs.begin(), call.inputs.end(), first.begin(), first.end(),
        [](const auto& a, const auto& b) { return a.name == b.name && !vary(a, b); });
  });
}

bool has_feature(const Path& path, const Needs& needs, Feature feature) {
  if (feature == Feature::dynamic_shapes && path.dynamic) return *path.dynamic && needs.has_tensors;
  return needs.features.contains(feature);
}

bool has_any(const std::vector<std::string>& globs, const std::vector<std::string>& names) {
  return globs.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return globs_take(globs, name);
         });
}

bool is_about(const Unsupported& entry, const Needs& needs, const std::string& torch) {
  if (!entry.torch.empty() && (torch.empty() || !version_matches(torch, entry.torch))) return false;
  if (!devices_take(entry.devices, needs.device) || !has_any(entry.dtypes, needs.dtypes))
    return false;
  return entry.operators.empty() ||
         std::any_of(needs.operators.begin(), needs.operators.end(),
                     [&](const auto& name) { return takes_operator(entry.operators, name); });
}

}  // namespace

bool takes_operator(const std::vector<std::string>& globs, const std::string& name) {
  bool only_excludes = true, met = false;
  for (const std::string_view glob : globs) {
    const bool excludes = glob.starts_with('!');
    if (excludes && operator_matches(glob.substr(1), name)) return false;
    only_excludes = only_excludes && excludes;
    met = met || (!excludes && operator_matches(glob, name));
  }
  return met || only_excludes;
}

Needs needs_of(const Case& declared, const std::string& device, const Registry* registry) {
  Needs needs;
  needs.operators = declared.operators;
  needs.device = device;
  Collector collector(needs, registry);
  for (const CallSpec& call : declared.calls) {
    collector.context(call.context);
    for (const InputSpec& input : call.inputs) {
      if (const auto* spec = std::get_if<TensorSpec>(&input.value)) {
        collector.tensor(*spec);
        needs.has_tensors = true;
      } else {
        collector.value(std::get<Value>(input.value));
      }
    }
  }
  for (const TensorSpec& literal : declared.literals) collector.tensor(literal);
  if (declared.prepare) {
    needs.has_tensors = true;
    if (!declared.prepare->requires_grad.empty()) needs.features.insert(Feature::gradients);
  }
  collector.context(declared.program.context);
  walk(declared.program, collector);
  if (declared.program.backward) needs.features.insert(Feature::gradients);
  if (!declared.calls.empty() && calls_vary(declared))
    needs.features.insert(Feature::dynamic_shapes);
  return needs;
}

Declared declared_of(const Path& path, const Needs& needs, const std::string& torch) {
  Declared declared;
  for (const Unsupported& entry : path.declarations.unsupported) {
    if (!is_about(entry, needs, torch)) continue;
    const bool of_strides = entry.features == std::vector{Feature::strides};
    const bool of_bits = entry.features == std::vector{Feature::bits};
    const bool of_gradients = entry.features == std::vector{Feature::gradients, Feature::bits};
    std::string& why = of_strides     ? declared.strides
                       : of_bits      ? declared.bits
                       : of_gradients ? declared.gradient_bits
                                      : declared.unsupported;
    const bool has = of_strides || of_bits || entry.features.empty() ||
                     std::any_of(entry.features.begin(), entry.features.end(),
                                 [&](Feature each) { return has_feature(path, needs, each); });
    if (has && why.empty()) why = entry.reason;
  }
  for (const ToleranceRule& entry : path.declarations.tolerances) {
    if (std::any_of(needs.operators.begin(), needs.operators.end(),
                    [&](const auto& name) { return takes_operator(entry.operators, name); }))
      declared.tolerances.push_back(entry);
  }
  return declared;
}

}  // namespace lockstep
