#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"
#include "program/higher_order.h"
#include "program/program_json.h"

namespace lockstep {
namespace {

/// How deep lists in lists and blocks in blocks go at most, as in case files (base/json.h).
constexpr int kMostLevels = 64;

/// What ends the reading; the functions that are declared outside catch it.
struct Wrong {
  ProgramFault fault;
};

/// A place in what is read; its pointer is only spelled where something is wrong.
struct At {
  const Json& json;
  const At* parent = nullptr;
  std::string_view key = {};
  std::size_t index = 0;
  int depth = 0;

  At child(std::string_view name) const {
    const auto found = json.find(std::string(name));
    if (found == json.end()) wrong(fmt::format("the key `{}` is missing", name));
    return {*found, this, name, 0, depth};
  }
  At element(std::size_t i) const { return {json[i], this, {}, i, depth}; }
  bool has(std::string_view name) const {
    const auto found = json.find(std::string(name));
    return found != json.end() && !found->is_null();
  }
  /// One level deeper in what may hold itself.
  At deeper() const {
    if (depth >= kMostLevels) wrong(fmt::format("found more than {} levels", kMostLevels));
    return {json, parent, key, index, depth + 1};
  }

  std::string pointer() const {
    if (parent == nullptr) return "";
    return child_pointer(parent->pointer(), key.empty() ? std::to_string(index) : std::string(key));
  }
  [[noreturn]] void wrong(std::string message, bool unknown = false) const {
    throw Wrong{{pointer(), std::move(message), unknown}};
  }
  [[noreturn]] void expected(std::string_view what) const {
    wrong(fmt::format("found {}, expected {}", describe_json(json), what));
  }

  const At& object(std::string_view what) const {
    if (!json.is_object()) expected(what);
    return *this;
  }
  std::size_t list(std::string_view what) const {
    if (!json.is_array()) expected(what);
    return json.size();
  }
  const std::string& text(std::string_view what) const {
    if (!json.is_string()) expected(what);
    return json.get_ref<const std::string&>();
  }
  const std::string& name() const {
    const std::string& found = text("a name");
    if (!is_name(found)) expected("a name: letters, digits and _, not beginning with a digit");
    return found;
  }
  bool boolean() const {
    if (!json.is_boolean()) expected("true or false");
    return json.get<bool>();
  }
};

Float read_float(const At& at) {
  const std::string& text = at.text("a float as text");
  const std::size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const std::string_view digits = std::string_view(text).substr(sign);
  const bool hexadecimal = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool word = digits == "inf" || text == "nan";
  if ((!hexadecimal && !word) || end != text.c_str() + text.size())
    at.expected("C99 hexadecimal, such as \"0x1.8p+1\", or \"inf\", \"-inf\" or \"nan\"");
  return {value};
}

Value read_value(const At& at);

std::vector<Value> read_values(const At& at, std::string_view what) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < at.list(what); ++i) values.push_back(read_value(at.element(i)));
  return values;
}

/// An object of one key.
Value read_tagged(const At& at) {
  if (at.json.size() != 1) at.expected("a value: an object with one key");
  const std::string& key = at.json.begin().key();
  const At content = at.child(key);
  if (key == "ref") return {Ref{content.name()}};
  if (key == "float") return {read_float(content)};
  if (key == "str") return {content.text("a string")};
  if (key == "complex") {
    if (content.list("[real, imaginary]") != 2) content.expected("[real, imaginary]");
    return {Complex{read_float(content.element(0)), read_float(content.element(1))}};
  }
  using Word = Enumeration::Kind;
  for (const Word kind : {Word::dtype, Word::device, Word::layout, Word::memory_format}) {
    if (key == name_of(kind)) return {Enumeration{kind, content.text("a word of torch's")}};
  }
  at.expected(
      "a value: `ref`, `float`, `complex`, `str`, `dtype`, `device`, `layout` or "
      "`memory_format`");
}

Value read_value(const At& at) {
  switch (at.json.type()) {
    case Json::value_t::null:
      return {};
    case Json::value_t::boolean:
      return {at.json.get<bool>()};
    case Json::value_t::number_integer:
      return {at.json.get<std::int64_t>()};
    case Json::value_t::number_unsigned: {
      const auto number = at.json.get<std::uint64_t>();
      if (number > INT64_MAX) return {number};
      return {static_cast<std::int64_t>(number)};
    }
    case Json::value_t::array:
      return {read_values(at.deeper(), "a list")};
    case Json::value_t::object:
      return read_tagged(at);
    default:
      at.expected("a value");
  }
}

IndexItem read_item(const At& at) {
  if (!at.json.is_object()) return read_value(at);
  if (at.has("ellipsis")) return Ellipsis{};
  if (at.has("newaxis")) return NewAxis{};
  if (!at.has("slice")) return read_value(at);
  const At slice = at.child("slice");
  if (slice.list("[start, stop, step]") != 3) slice.expected("[start, stop, step]");
  return Slice{read_value(slice.element(0)), read_value(slice.element(1)),
               read_value(slice.element(2))};
}

std::vector<IndexItem> read_index(const At& at) {
  std::vector<IndexItem> items;
  for (std::size_t i = 0; i < at.list("a list of index items"); ++i)
    items.push_back(read_item(at.element(i)));
  return items;
}

std::vector<std::string> read_names(const At& at) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < at.list("a list of names"); ++i)
    names.push_back(at.element(i).name());
  return names;
}

Arguments read_arguments(const At& step) {
  Arguments arguments;
  if (step.has("args")) arguments.args = read_values(step.child("args"), "a list of arguments");
  if (!step.has("kwargs")) return arguments;
  const At kwargs = step.child("kwargs").object("an object of arguments by name");
  for (const auto& [name, value] : kwargs.json.items()) {
    const At argument = kwargs.child(name);
    if (!is_name(name)) argument.wrong(fmt::format("found `{}`, expected a name", name));
    arguments.kwargs.emplace_back(name, read_value(argument));
  }
  return arguments;
}

Context read_context(const At& at) {
  Context context;
  if (at.json.is_null()) return context;
  at.object("a context: an object");
  for (const auto& [key, value] : at.json.items()) {
    const At entry = at.child(key);
    if (value.is_null()) continue;
    if (key == "grad") {
      context.grad = entry.boolean();
    } else if (key == "inference") {
      context.inference = entry.boolean();
    } else if (key == "deterministic_algorithms") {
      context.deterministic_algorithms = entry.boolean();
    } else if (key == "autocast") {
      entry.object("{\"device\": ..., \"dtype\": ...}");
      context.autocast = {entry.child("device").text("the kind of device"),
                          entry.child("dtype").text("the name of a dtype"),
                          !entry.has("enabled") || entry.child("enabled").boolean()};
    } else if (key == "default_dtype") {
      context.default_dtype = entry.text("the name of a dtype");
    } else if (key == "compiled") {
      context.compiled = entry.boolean();
    } else if (key == "thread") {
      if (!entry.boolean()) entry.wrong("found false, expected true");
      context.thread = true;
    } else {
      entry.wrong("context " + key, /*unknown=*/true);
    }
  }
  return context;
}

/// Reads the steps of one program.
struct StepReader {
  Json& literals;

  std::vector<Step> steps(const At& at) const {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < at.list("a list of steps"); ++i)
      steps.push_back(step(at.element(i).object("a step: an object")));
    return steps;
  }

  /// A call of an operator that takes sub-programs, each of which is one level deeper.
  ApplyCall apply(const At& at) const {
    ApplyCall call{
        at.child("apply").text("an operator that takes sub-programs"), read_arguments(at), {}};
    const HigherOrder* op = find_higher_order(call.name);
    if (op == nullptr)
      at.child("apply").wrong(fmt::format("an operator `{}` that takes sub-programs", call.name),
                              /*unknown=*/true);
    for (const std::string_view role : op->programs()) {
      const At program = at.child(role).object("a sub-program: an object").deeper();
      call.programs.push_back({std::string(role), read_names(program.child("inputs")),
                               steps(program.child("steps")),
                               read_names(program.child("outputs"))});
    }
    if (const auto fault = fault_of(call)) at.wrong(fault->key + ": " + fault->message);
    return call;
  }

  Step step(const At& at) const {
    Step step;
    if (at.json.contains("with")) {
      const At block = at.deeper();
      if (block.child("with").json.contains("thread"))
        block.child("with").child("thread").wrong("steps run in the thread of their call");
      step.does = WithBlock{read_context(block.child("with")), steps(block.child("steps"))};
      return step;
    }
    if (at.has("let")) {
      const At let = at.child("let");
      for (std::size_t i = 0; i < let.list("a list of names"); ++i) {
        const At name = let.element(i);
        step.let.push_back(name.json.is_null() ? std::nullopt : std::optional(name.name()));
      }
    }
    if (at.has("op")) {
      step.does = OpCall{at.child("op").text("the name of an overload"), read_arguments(at)};
    } else if (at.has("call")) {
      FunctionCall call{at.child("call").text("the name of a function"), read_arguments(at)};
      if (at.has("not_lowered"))
        call.not_lowered = at.child("not_lowered").text("why it has no operators");
      step.does = std::move(call);
    } else if (at.has("tensor")) {
      step.does = LiteralTensor{literals.size()};
      literals.push_back(at.child("tensor").object("a view: an object").json);
    } else if (at.has("get")) {
      step.does = GetItem{read_value(at.child("get")), read_index(at.child("index"))};
    } else if (at.has("set")) {
      step.does = SetItem{read_value(at.child("set")), read_index(at.child("index")),
                          read_value(at.child("to"))};
    } else if (at.has("scalar")) {
      const At expression = at.child("scalar");
      if (expression.list("a list: an operator and its operands") == 0)
        expression.expected("an operator and its operands");
      ScalarCall call{expression.element(0).text("a scalar operator"), {}};
      for (std::size_t i = 1; i < expression.json.size(); ++i)
        call.operands.push_back(read_value(expression.element(i)));
      step.does = std::move(call);
    } else if (at.has("grad")) {
      step.does = grad(at.child("grad").object("{\"of\": [...], \"wrt\": [...]}"));
    } else if (at.has("apply")) {
      step.does = apply(at);
    } else {
      at.expected(
          "a step with one of `op`, `call`, `tensor`, `get`, `set`, `scalar`, `grad`, `with`, "
          "`apply`");
    }
    return step;
  }

  static GradCall grad(const At& at) {
    GradCall grad{read_values(at.child("of"), "a list of values"),
                  read_values(at.child("wrt"), "a list of values"), std::nullopt, false};
    if (at.has("with")) grad.with = read_values(at.child("with"), "a list of values, or null");
    if (at.has("create_graph")) grad.create_graph = at.child("create_graph").boolean();
    return grad;
  }
};

Backward read_backward(const At& at) {
  at.object("{\"of\": [...], \"with\": ...}");
  Backward backward{read_names(at.child("of")), std::nullopt};
  if (at.has("retain_graph")) backward.retain_graph = at.child("retain_graph").boolean();
  if (at.has("twice")) backward.twice = at.child("twice").boolean();
  if (!at.has("with")) return backward;
  const At with = at.child("with");
  if (with.json.is_string() && with.json == "ones") return backward;
  if (!with.json.is_array()) with.expected("\"ones\", or a list of names");
  backward.with = read_names(with);
  return backward;
}

/// A name, or a constant.
Value read_output(const At& at) {
  if (at.json.is_string()) return {Ref{at.name()}};
  Value value = read_value(at);
  if (value.is_none() || std::holds_alternative<bool>(value.is) ||
      std::holds_alternative<std::int64_t>(value.is) || std::holds_alternative<Float>(value.is))
    return value;
  at.expected("a name, null, a bool, an int or a float");
}

Program read_program(const At& at, Json& literals) {
  at.object("a program: an object");
  Program program;
  program.inputs = read_names(at.child("inputs"));
  if (at.has("constants")) {
    const At constants = at.child("constants");
    program.constants = read_names(constants);
    for (std::size_t i = 0; i < program.constants.size(); ++i) {
      if (!contains(program.inputs, program.constants[i]))
        constants.element(i).expected("the name of an input");
    }
  }
  program.steps = StepReader{literals}.steps(at.child("steps"));
  const At outputs = at.child("outputs");
  for (std::size_t i = 0; i < outputs.list("a list of outputs"); ++i)
    program.outputs.push_back(read_output(outputs.element(i)));
  if (at.has("context")) program.context = read_context(at.child("context"));
  if (at.has("backward")) program.backward = read_backward(at.child("backward"));
  if (at.has("carry")) {
    const At carry = at.child("carry").object("an object: an input, and what it is after a call");
    for (const auto& [input, from] : carry.json.items())
      program.carry.emplace_back(input, carry.child(input).name());
    const std::size_t said = program.carry.size();
    prune_carry(program);
    if (program.carry.size() < said) carry.expected("names of inputs, and of inputs or outputs");
  }
  return program;
}

}  // namespace

std::string to_string(const ProgramFault& fault) {
  return fault.pointer.empty() ? fault.message : fault.pointer + ": " + fault.message;
}

tl::expected<Value, ProgramFault> value_from_json(const Json& json) {
  try {
    return read_value(At{json});
  } catch (Wrong& wrong) {
    return tl::unexpected(std::move(wrong.fault));
  }
}

tl::expected<Context, ProgramFault> context_from_json(const Json& json) {
  try {
    return read_context(At{json});
  } catch (Wrong& wrong) {
    return tl::unexpected(std::move(wrong.fault));
  }
}

tl::expected<Program, ProgramFault> program_from_json(const Json& json, Json& literals) {
  try {
    return read_program(At{json}, literals);
  } catch (Wrong& wrong) {
    return tl::unexpected(std::move(wrong.fault));
  }
}

}  // namespace lockstep
