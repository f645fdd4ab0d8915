#include "program/higher_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr HigherOrder kHigherOrder[] = {
    {"cond", {"do", "else"}, {{{"pred", Word::reference, true}}}},
    {"while_loop", {"while", "do"}, {{{"most", Word::count, true}}}},
    {"scan",
     {"do"},
     {{{"init", Word::references, true}, {"dim", Word::integer}, {"reverse", Word::flag}}}},
    {"associative_scan", {"do"}, {{{"dim", Word::integer}, {"reverse", Word::flag}}}},
    {"checkpoint", {"do"}, {}},
    {"nested_compile_region", {"do"}, {}},
    {"vmap", {"do"}, {{{"in_dims", Word::axes}, {"out_dims", Word::axes}}}},
    {"grad", {"do"}, {{{"argnums", Word::places}}}},
    {"jvp", {"do"}, {{{"tangents", Word::references, true}}}},
    {"flex_attention", {"do"}, {{{"scale", Word::number}}}},
};

bool is_reference(const Value& value) { return std::holds_alternative<Ref>(value.is); }

template <class Good>
bool is_list(const Value& value, Good good) {
  const auto* list = std::get_if<Value::List>(&value.is);
  return list != nullptr && std::all_of(list->begin(), list->end(), good);
}

bool is_in(const Value& value, std::int64_t least, std::int64_t most) {
  const auto* number = std::get_if<std::int64_t>(&value.is);
  return number != nullptr && *number >= least && *number <= most;
}

constexpr std::int64_t kMostAxis = 64;

/// What a word has to be, if it is not; empty: it is.
std::string expected_of(Word word, const Value& value) {
  const auto axis = [](const Value& each) { return is_in(each, -kMostAxis, kMostAxis); };
  switch (word) {
    case Word::reference:
      return is_reference(value) ? "" : "a reference, such as \"%x\"";
    case Word::references:
      return is_list(value, is_reference) ? "" : "a list of references, such as [\"%x\"]";
    case Word::count:
      return is_in(value, 1, kMostIterations) ? ""
                                              : fmt::format("an int of 1 to {}", kMostIterations);
    case Word::integer:
      return axis(value) ? "" : "the number of a dimension";
    case Word::flag:
      return std::holds_alternative<bool>(value.is) ? "" : "true or false";
    case Word::number:
      return std::holds_alternative<Float>(value.is) ? "" : "a float";
    case Word::axes: {
      const auto axis_or_none = [&](const Value& each) { return each.is_none() || axis(each); };
      return is_list(value, axis_or_none) ? "" : "a list of dimensions, null where there is none";
    }
    case Word::places:
      return is_list(value, [](const Value& each) { return is_in(each, 0, kMostAxis); })
                 ? ""
                 : "a list of places of arguments, from 0";
  }
  return "";
}

/// Finds what is wrong, part by part.
class FitOfCall {
 public:
  explicit FitOfCall(const ApplyCall& call) : call_(call), op_(*find_higher_order(call.name)) {}

  std::optional<HigherOrderFault> check() {
    words();
    programs();
    if (!fault_) sizes();
    return std::move(fault_);
  }

 private:
  void say(std::string key, std::string message) {
    if (!fault_) fault_ = {std::move(key), std::move(message)};
  }

  void words() {
    if (!std::all_of(call_.arguments.args.begin(), call_.arguments.args.end(), is_reference))
      say("args", fmt::format("`{}` takes references, such as \"%x\"", op_.name));
    if (call_.arguments.args.empty())
      say("args", fmt::format("`{}` takes at least one argument", op_.name));
    for (const auto& [name, value] : call_.arguments.kwargs) {
      const auto known =
          std::find_if(op_.words.begin(), op_.words.end(),
                       [&, key = name](const auto& word) { return word.name == key; });
      if (known == op_.words.end() || known->name.empty()) {
        say("kwargs", fmt::format("found `{}`, which `{}` does not take", name, op_.name));
      } else if (const std::string expected = expected_of(known->is, value); !expected.empty()) {
        say("kwargs", fmt::format("`{}` has to be {}", name, expected));
      }
    }
    for (const HigherOrderWord& word : op_.words) {
      if (word.required && word_of(call_, word.name) == nullptr)
        say("kwargs", fmt::format("`{}` of `{}` is missing", word.name, op_.name));
    }
  }

  void programs() {
    for (const SubProgram& program : call_.programs) {
      if (std::find(op_.roles.begin(), op_.roles.end(), program.role) == op_.roles.end())
        say(program.role, fmt::format("`{}` has no `{}`", op_.name, program.role));
      if (program.outputs.empty())
        say(program.role + "/outputs", "found no output, expected at least one");
    }
    for (const std::string_view role : op_.programs()) {
      if (sub_program(call_, role) == nullptr)
        say(std::string(role), fmt::format("`{}` needs a sub-program `{}`", op_.name, role));
    }
  }

  void inputs(std::string_view role, std::size_t expected, std::string_view why) {
    const std::size_t found = sub_program(call_, role)->inputs.size();
    if (found != expected)
      say(fmt::format("{}/inputs", role),
          fmt::format("found {} inputs, expected {}: {}", found, expected, why));
  }

  void outputs(std::string_view role, std::size_t expected, std::string_view why) {
    const std::size_t found = sub_program(call_, role)->outputs.size();
    if (found != expected)
      say(fmt::format("{}/outputs", role),
          fmt::format("found {} outputs, expected {}: {}", found, expected, why));
  }

  void listed(std::string_view word, std::size_t expected, std::string_view why) {
    if (word_of(call_, word) == nullptr) return;
    if (const std::size_t found = list_of(call_, word).size(); found != expected)
      say("kwargs", fmt::format("found {} of `{}`, expected {}: {}", found, word, expected, why));
  }

  void sizes() {
    const std::size_t args = call_.arguments.args.size();
    const SubProgram& body = *sub_program(call_, "do");
    constexpr std::string_view kEach = "one for each of `args`";
    if (op_.name == "scan") {
      const std::size_t init = list_of(call_, "init").size();
      inputs("do", init + args, "those of `init`, then a slice of each of `args`");
      if (init == 0) say("kwargs", "found no `init`, expected what is carried at first");
      if (body.outputs.size() < init)
        say("do/outputs", "found fewer outputs than there are in `init`, which they carry on");
    } else if (op_.name == "associative_scan") {
      inputs("do", 2 * args, "two of each of `args`: the left ones, then the right ones");
      outputs("do", args, kEach);
    } else if (op_.name == "flex_attention") {
      if (args != 3) say("args", fmt::format("found {}, expected query, key and value", args));
      inputs("do", 5, "the score, the batch, the head, the place of the query, that of the key");
      outputs("do", 1, "the score");
    } else {
      for (const std::string_view role : op_.programs()) inputs(role, args, kEach);
    }
    if (op_.name == "cond") outputs("else", body.outputs.size(), "as many as of `do`");
    if (op_.name == "while_loop") {
      outputs("while", 1, "whether to go on");
      outputs("do", args, kEach);
    }
    if (op_.name == "grad") gradients(args);
    listed("tangents", args, kEach);
    listed("in_dims", args, kEach);
    listed("out_dims", body.outputs.size(), "one for each output");
  }

  void gradients(std::size_t args) {
    outputs("do", 1, "the number whose gradient is taken");
    if (word_of(call_, "argnums") != nullptr && list_of(call_, "argnums").empty())
      say("kwargs", "found no `argnums`, expected at least one");
    for (const Value& place : list_of(call_, "argnums")) {
      if (!is_in(place, 0, static_cast<std::int64_t>(args) - 1))
        say("kwargs", fmt::format("`argnums` has to be places of `args`, from 0 to {}", args - 1));
    }
  }

  const ApplyCall& call_;
  const HigherOrder& op_;
  std::optional<HigherOrderFault> fault_;
};

}  // namespace

std::span<const HigherOrder> higher_order() { return kHigherOrder; }

const HigherOrder* find_higher_order(std::string_view name) {
  for (const HigherOrder& each : kHigherOrder) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

const Value* word_of(const ApplyCall& call, std::string_view name) {
  for (const auto& [key, value] : call.arguments.kwargs) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<Value> list_of(const ApplyCall& call, std::string_view name) {
  const Value* value = word_of(call, name);
  const auto* list = value == nullptr ? nullptr : std::get_if<Value::List>(&value->is);
  return list == nullptr ? std::vector<Value>() : *list;
}

std::int64_t integer_of(const ApplyCall& call, std::string_view name, std::int64_t otherwise) {
  const Value* value = word_of(call, name);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->is);
  return number == nullptr ? otherwise : *number;
}

const SubProgram* sub_program(const ApplyCall& call, std::string_view role) {
  for (const SubProgram& each : call.programs) {
    if (each.role == role) return &each;
  }
  return nullptr;
}

std::optional<HigherOrderFault> fault_of(const ApplyCall& call) { return FitOfCall(call).check(); }

std::size_t results_of(const ApplyCall& call) {
  const std::size_t outputs = sub_program(call, "do")->outputs.size();
  if (call.name == "grad") return std::max<std::size_t>(1, list_of(call, "argnums").size());
  return call.name == "jvp" ? 2 * outputs : outputs;
}

bool decides(const ApplyCall& call) { return call.name == "cond" || call.name == "while_loop"; }

}  // namespace lockstep
