#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "program/value.h"

// A program as design/protocol.md ("Program") describes it, as types.  program/visit.h walks it,
// program/edit.h changes it, program/print.h shows it, program/program_json.h has its wire form.
namespace lockstep {

/// Autocast on one kind of device.
struct Autocast {
  std::string device;  ///< "cpu"
  std::string dtype;   ///< "bfloat16"
  bool enabled = true;

  bool operator==(const Autocast&) const = default;
};

/// The context in which steps run, or a call; what is not set stays unchanged.
struct Context {
  std::optional<bool> grad;
  std::optional<bool> inference;
  std::optional<bool> deterministic_algorithms;
  std::optional<Autocast> autocast;
  std::optional<std::string> default_dtype;
  /// false, of the last block of a program alone: its steps are not compiled but stand beside what
  /// is, as an optimizer does beside a model.
  std::optional<bool> compiled;
  /// Of a program or a call alone: a new thread, in which the other members are entered, makes the
  /// call, and the caller waits for it.
  bool thread = false;

  bool operator==(const Context&) const = default;
};

/// `inner` within `outer`, as one.
Context joined(Context outer, const Context& inner);

/// What a call is given.
struct Arguments {
  std::vector<Value> args;                            ///< by position
  std::vector<std::pair<std::string, Value>> kwargs;  ///< by name, each once

  bool operator==(const Arguments&) const = default;
};

/// A call of an overload: "aten::add.Tensor", "aten::relu.default".
struct OpCall {
  std::string op;
  Arguments arguments;

  bool operator==(const OpCall&) const = default;
};

/// A call of what only Python has: a public function, "torch.nn.functional.relu", or an operator of
/// a module, "prims::sin.default", whose schema nobody knows.
struct FunctionCall {
  std::string function;
  Arguments arguments;
  /// Of a program that golds are made of: why there are no operators in its place.
  std::string not_lowered = {};

  bool operator==(const FunctionCall&) const = default;
};

/// Whether such a call is one of an operator.
inline bool is_operator(const FunctionCall& call) {
  return call.function.find("::") != std::string::npos;
}

/// A fresh copy of a tensor that is kept beside the program: its place in a list of tensors, which
/// are specs in a case (Case::literals) and views in a set of inputs (InputSet::literals).
struct LiteralTensor {
  std::size_t index = 0;

  bool operator==(const LiteralTensor&) const = default;
};

/// `...` between the brackets of an index.
struct Ellipsis {
  bool operator==(const Ellipsis&) const = default;
};

/// `None` between the brackets of an index.
struct NewAxis {
  bool operator==(const NewAxis&) const = default;
};

/// start:stop:step; None where a part is left out.
struct Slice {
  Value start;
  Value stop;
  Value step;

  bool operator==(const Slice&) const = default;
};

/// One item between the brackets of an index; a list is an index tensor.
using IndexItem = std::variant<Ellipsis, NewAxis, Slice, Value>;

/// base[index]
struct GetItem {
  Value base;
  std::vector<IndexItem> index;

  bool operator==(const GetItem&) const = default;
};

/// base[index] = to
struct SetItem {
  Value base;
  std::vector<IndexItem> index;
  Value to;

  bool operator==(const SetItem&) const = default;
};

/// Python arithmetic on scalars: one of program/scalar_operators.h and its operands.
struct ScalarCall {
  std::string name;
  std::vector<Value> operands;

  bool operator==(const ScalarCall&) const = default;
};

/// torch.autograd.grad: one result for each of `wrt`.
struct GradCall {
  std::vector<Value> of;
  std::vector<Value> wrt;
  std::optional<std::vector<Value>> with;  ///< one for each of `of`; ones where there is none
  bool create_graph = false;

  bool operator==(const GradCall&) const = default;
};

struct Step;

/// Steps under a context; names defined inside remain.
struct WithBlock {
  Context context;
  std::vector<Step> steps;

  bool operator==(const WithBlock& other) const;
};

/// Steps inside a step: a function with inputs and outputs of its own, which may use what is known
/// where it stands.  What it names is known in it alone.
struct SubProgram {
  std::string role;  ///< what it is to its operator: "do", "else", "while"
  std::vector<std::string> inputs;
  std::vector<Step> steps;
  std::vector<std::string> outputs;

  bool operator==(const SubProgram& other) const;
};

/// A call of an operator that takes sub-programs: one of program/higher_order.h.
struct ApplyCall {
  std::string name;
  Arguments arguments;
  std::vector<SubProgram> programs;  ///< one for each of the operator's roles

  bool operator==(const ApplyCall&) const = default;
};

/// Where somebody's program says a step: for people, never opened.
struct SourceLine {
  std::string file;  ///< "models/net.py": relative, below nothing but itself
  std::int64_t line = 0;
  std::string name = {};  ///< "Net.forward"; empty: not known

  bool operator==(const SourceLine&) const = default;
};

/// One step: its operation, and the names of its results.
struct Step {
  /// One name, or one for each result (nothing: not needed), or none at all.
  std::vector<std::optional<std::string>> let;
  std::variant<OpCall, FunctionCall, LiteralTensor, GetItem, SetItem, ScalarCall, GradCall,
               WithBlock, ApplyCall>
      does;
  /// What is executed does not depend on it, so no worker is told.
  std::optional<SourceLine> source = {};

  bool operator==(const Step&) const = default;
};

/// torch.autograd.backward after a call.
struct Backward {
  std::vector<std::string> of;                   ///< outputs
  std::optional<std::vector<std::string>> with;  ///< inputs, one for each; ones where there is none
  bool retain_graph = false;                     ///< the backward keeps what another one needs
  bool twice = false;                            ///< and there is another one, which keeps nothing

  bool operator==(const Backward&) const = default;
};

/// What a worker executes.
struct Program {
  std::vector<std::string> inputs;
  /// Those inputs that the program closes over instead of taking them as arguments.
  std::vector<std::string> constants;
  std::vector<Step> steps;
  /// What it returns, place by place: values (Ref), which may come again, and constants: None, a
  /// bool, an int or a float.
  std::vector<Value> outputs;
  Context context;
  std::optional<Backward> backward;
  /// What a call hands to the next one: from the second call on the input (first) is what the
  /// second name, of an output or an input, had after the call before.  Inputs each once.
  std::vector<std::pair<std::string, std::string>> carry;

  bool operator==(const Program&) const = default;
};

/// Leaves out of `carry` what the program does not take or does not leave.
void prune_carry(Program& program);

/// Outputs that are these values, each once.
std::vector<Value> returning(const std::vector<std::string>& names);

/// The values that a program returns, each once.
std::vector<std::string> returned_values(const Program& program);

/// Whether it returns constants.
bool returns_constants(const Program& program);

/// The names that its outputs have in observations and verdicts, place by place: that of the value;
/// of one that comes again "y(2)"; of a constant its place, "output-3".  No name of a value has
/// parentheses or a dash.
std::vector<std::string> output_names(const Program& program);

/// The value that an output's name is about: y of "y" and of "y(2)"; empty of a constant.
std::string value_of_output(std::string_view name);

/// Whether text is a name of a program or of an argument: `[A-Za-z_][A-Za-z0-9_]*`.
bool is_name(std::string_view text);

}  // namespace lockstep
