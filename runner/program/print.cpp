#include "program/print.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"

namespace lockstep {
namespace {

std::string print(Float number) {
  if (std::isnan(number.value)) return "nan";
  if (std::isinf(number.value)) return number.value < 0 ? "-inf" : "inf";
  const std::string shown = fmt::format("{}", number.value);
  return shown.find_first_of(".e") == std::string::npos ? shown + ".0" : shown;
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The items between commas, as `text` prints each.
template <class List, class Text>
std::string joined(const List& items, Text text) {
  std::string line;
  bool first = true;
  for (const auto& item : items) {
    line += (first ? "" : ", ") + text(item);
    first = false;
  }
  return line;
}

std::string joined(const std::vector<Value>& values) {
  return joined(values, [](const Value& value) { return print(value); });
}

struct ValuePrinter {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(Float value) const { return print(value); }
  std::string operator()(const Complex& value) const {
    return "(" + print(value.real) + " + " + print(value.imaginary) + "j)";
  }
  std::string operator()(const Ref& value) const { return value.name; }
  std::string operator()(const Enumeration& value) const { return value.word; }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const Value::List& value) const { return "[" + joined(value) + "]"; }
};

std::string slice_part(const Value& part) { return part.is_none() ? "" : print(part); }

struct ItemPrinter {
  std::string operator()(Ellipsis) const { return "..."; }
  std::string operator()(NewAxis) const { return "None"; }
  std::string operator()(const Slice& slice) const {
    return slice_part(slice.start) + ":" + slice_part(slice.stop) +
           (slice.step.is_none() ? "" : ":" + print(slice.step));
  }
  std::string operator()(const Value& value) const { return print(value); }
};

std::string indexed(const Value& base, const std::vector<IndexItem>& index) {
  return print(base) + "[" +
         joined(index, [](const IndexItem& item) { return std::visit(ItemPrinter{}, item); }) + "]";
}

std::string called(const std::string& name, const Arguments& arguments) {
  std::string text = joined(arguments.args);
  for (const auto& [key, value] : arguments.kwargs)
    text += (text.empty() ? "" : ", ") + key + "=" + print(value);
  return name + "(" + text + ")";
}

/// What a step does, but for `with` blocks and the steps of sub-programs.
struct StepPrinter {
  const LiteralText& literal;

  std::string operator()(const OpCall& call) const { return called(call.op, call.arguments); }
  std::string operator()(const FunctionCall& call) const {
    return called(call.function, call.arguments);
  }
  std::string operator()(const LiteralTensor& tensor) const { return literal(tensor.index); }
  std::string operator()(const GetItem& get) const { return indexed(get.base, get.index); }
  std::string operator()(const SetItem& set) const {
    return indexed(set.base, set.index) + " = " + print(set.to);
  }
  std::string operator()(const ScalarCall& call) const {
    return call.name + "(" + joined(call.operands) + ")";
  }
  std::string operator()(const GradCall& grad) const {
    return "grad(of=[" + joined(grad.of) + "], wrt=[" + joined(grad.wrt) + "])";
  }
  std::string operator()(const WithBlock&) const { return ""; }
  std::string operator()(const ApplyCall& call) const { return called(call.name, call.arguments); }
};

}  // namespace

std::string print(const Value& value) { return std::visit(ValuePrinter{}, value.is); }

std::string print(const Context& context) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string(key) + "=" + value;
  };
  const auto flag = [&](const char* key, const std::optional<bool>& value) {
    if (value) add(key, *value ? "true" : "false");
  };
  flag("grad", context.grad);
  flag("inference", context.inference);
  flag("deterministic_algorithms", context.deterministic_algorithms);
  if (const auto& autocast = context.autocast)
    add("autocast", autocast->device + " " + autocast->dtype + (autocast->enabled ? "" : " off"));
  if (context.default_dtype) add("default_dtype", *context.default_dtype);
  flag("compiled", context.compiled);
  if (context.thread) add("thread", "true");
  return text;
}

std::string print(const SourceLine& source) {
  return fmt::format("{}:{}{}", source.file, source.line,
                     source.name.empty() ? "" : " in " + source.name);
}

std::string print(std::span<const Step> steps, const LiteralText& literal,
                  const std::string& indent, WithSources sources) {
  static const std::vector<SubProgram> kNone;
  std::string text;
  for (const Step& step : steps) {
    const bool shown = sources == WithSources::yes && step.source;
    const std::string comment = shown ? "  # " + print(*step.source) : "";
    if (const auto* block = std::get_if<WithBlock>(&step.does)) {
      text += indent + "with " + print(block->context) + ":" + comment + "\n";
      text += print(block->steps, literal, indent + "  ", sources);
      continue;
    }
    const std::string names =
        joined(step.let, [](const std::optional<std::string>& name) { return name.value_or("_"); });
    text += indent + (names.empty() ? "" : names + " = ") +
            std::visit(StepPrinter{literal}, step.does) + comment + "\n";
    const auto* apply = std::get_if<ApplyCall>(&step.does);
    for (const SubProgram& program : apply == nullptr ? kNone : apply->programs) {
      const auto listed = [](const auto& all) {
        return joined(all, [](const std::string& name) { return name; });
      };
      text += indent + "  " + program.role + " (" + listed(program.inputs) + "):\n";
      text += print(program.steps, literal, indent + "    ", sources);
      text += indent + "    return " + listed(program.outputs) + "\n";
    }
  }
  return text;
}

std::string print(const Program& program, const LiteralText& literal, WithSources sources) {
  const bool plain = program.context == Context{};
  std::string text = plain ? "" : "  with " + print(program.context) + ":\n";
  text += print(program.steps, literal, plain ? "  " : "    ", sources);
  text += "  return " + (program.outputs.empty() ? "nothing" : joined(program.outputs)) + "\n";
  if (program.backward) {
    std::string of;
    for (const std::string& each : program.backward->of)
      of += (of.empty() ? "" : ",") + quoted(each);
    text += "  backward of [" + of + "]";
    if (program.backward->twice) text += ", twice";
    if (program.backward->retain_graph) text += ", the graph retained";
    text += "\n";
  }
  for (const auto& [input, from] : program.carry)
    text += "  the next call gets " + from + " as " + input + "\n";
  return text;
}

}  // namespace lockstep
