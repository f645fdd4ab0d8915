#include "cases/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

/// Decodes one case; a method for each key of the file.
class CaseDecoder {
 public:
  CaseDecoder(const JsonFile& file, const Json& root, const DecodeContext& context,
              Diagnostics& diagnostics)
      : reader_(file, diagnostics), root_{&root, ""}, context_(context) {}

  std::optional<Case> decode(const std::string& id) {
    result_.id = id;
    result_.file = reader_.file().name;
    result_.newer_lockstep = newer_lockstep(*root_);
    if (!result_.newer_lockstep.empty()) {
      // What else there is may be of a format that is not known here.
      result_.title = text_of("title");
      reader_.each_text(reader_.child(root_, "tags"),
                        [&](const Node&, const std::string& tag) { result_.tags.push_back(tag); });
      return std::move(result_);
    }
    if (!reader_.object(
            root_,
            {"$schema", "format",   "title",      "comment", "links",   "tags",     "matrix",
             "sweep",   "requires", "only",       "seed",    "context", "prepare",  "inputs",
             "steps",   "backward", "calls",      "outputs", "compare", "strides",  "pointwise",
             "share",   "raises",   "unverified", "threads", "carry",   "relations"})) {
      return std::nullopt;
    }
    reader_.format(root_);
    decode_header(reader_, root_, result_);
    choose_swept();
    prepare();
    inputs();
    program();
    compare();
    share();
    random();
    relations();
    if (reader_.failed()) return std::nullopt;
    return std::move(result_);
  }

 private:
  std::string text_of(std::string_view key) const {
    const auto node = reader_.child(root_, key);
    return node && (*node)->is_string() ? (*node)->get<std::string>() : "";
  }

  void prepare() {
    const auto node = reader_.child(root_, "prepare");
    if (!node || !reader_.object(*node, {"seed", "context", "steps", "outputs", "requires_grad"}))
      return;
    PrepareSpec prepare;
    if (const auto seed = reader_.child(*node, "seed")) {
      prepare.seed = static_cast<std::uint64_t>(
          reader_.integer(*seed, 0, INT64_MAX, "a seed of 0 or more").value_or(0));
    }
    Scope scope;
    ProgramParts parts;
    if (const auto steps = reader_.required(*node, "steps", "what makes the inputs"))
      decode_steps(reader_, *steps, context_, scope, parts);
    std::vector<std::string> outputs;
    if (const auto names =
            reader_.required(*node, "outputs", "names of steps that become inputs")) {
      outputs = prepared_names(*names, scope);
      prepare.program.outputs = returning(outputs);
      for (const std::string& name : outputs) {
        const Scope::Name* known = scope.find(name);
        scope_.names.emplace_back(name, Scope::Name{ValueKind::tensor, known->pointer, false});
      }
    }
    check_used(reader_, scope);
    if (const auto grads = reader_.child(*node, "requires_grad")) {
      prepare.requires_grad = reader_.texts(*grads, "a list of names from `outputs`");
      for (const std::string& name : prepare.requires_grad) {
        if (!contains(outputs, name)) {
          reader_.error(grads->pointer, fmt::format("found `{}`, expected a name from `outputs`",
                                                    one_line(name, 60)));
        } else {
          with_grad_.insert(name);
        }
      }
    }
    if (const auto declared = reader_.child(*node, "context"))
      prepare.program.context = decode_context(reader_, *declared, ContextOf::steps);
    note_parts(parts);
    prepare.program.steps = std::move(parts.steps);
    prepare.literals = std::move(parts.literals);
    result_.prepare = std::move(prepare);
  }

  void inputs() {
    result_.calls = decode_calls(reader_, root_, [&](const CallSpec& call) { define(call); });
  }

  void define(const CallSpec& call) {
    for (const InputSpec& input : call.inputs) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      const std::string pointer = child_pointer("/inputs", input.name);
      if (scope_.find(input.name) != nullptr) {
        reader_.error(
            pointer,
            fmt::format("found the input `{}` among the outputs of `prepare` as well", input.name),
            "", true);
      }
      scope_.names.emplace_back(
          input.name,
          Scope::Name{tensor != nullptr ? ValueKind::tensor : ValueKind::scalar, pointer, false});
      if (tensor != nullptr && tensor->requires_grad) with_grad_.insert(input.name);
      if (tensor != nullptr && tensor->constant) result_.program.constants.push_back(input.name);
    }
  }

  /// The value that an output names, which is then used; nothing, and an error, where there is
  /// none.
  std::optional<std::string> output_name(const Node& element, Scope& scope) {
    auto name = reader_.text(element, "a name");
    if (!name) return std::nullopt;
    Scope::Name* known = scope.find(*name);
    if (known == nullptr) {
      reader_.error(element.pointer,
                    fmt::format("found `{}`, which no input or step defines", one_line(*name, 60)),
                    reader_.suggestion(*name, scope.known()));
      return std::nullopt;
    }
    known->used = true;
    if (known->kind == ValueKind::tensor_list) {
      reader_.error(
          element.pointer,
          fmt::format("found `{}`, which is a list of tensors, expected a tensor or a scalar",
                      *name),
          fmt::format("unpack it where it is made: \"let\": [\"{0}0\", \"{0}1\"]", *name));
      return std::nullopt;
    }
    return name;
  }

  /// The outputs of `prepare`, which become inputs: names, each once.
  std::vector<std::string> prepared_names(const Node& node, Scope& scope) {
    std::vector<std::string> names;
    if (!reader_.list(node, "a list of names")) return names;
    if (node->empty()) reader_.mismatch(node, "at least one name");
    for (std::size_t i = 0; i < node->size(); ++i) {
      const Node element = reader_.element(node, i);
      const auto name = output_name(element, scope);
      if (!name) continue;
      if (contains(names, *name)) {
        reader_.error(element.pointer,
                      fmt::format("found the output `{}` for the second time", *name));
        continue;
      }
      names.push_back(*name);
    }
    return names;
  }

  /// What the program returns: names of values, and constants.
  std::vector<Value> decode_outputs(const Node& node) {
    std::vector<Value> outputs;
    if (!reader_.list(node, "a list of names, null, numbers, true and false")) return outputs;
    for (std::size_t i = 0; i < node->size(); ++i) {
      const Node element = reader_.element(node, i);
      if (element->is_string()) {
        if (const auto name = output_name(element, scope_)) outputs.push_back({Ref{*name}});
        continue;
      }
      const Value value =
          element->is_array() ? Value{Value::List{}} : decode_plain_value(reader_, element, scope_);
      if (value.is_none() || std::holds_alternative<bool>(value.is) ||
          std::holds_alternative<std::int64_t>(value.is) ||
          std::holds_alternative<Float>(value.is)) {
        outputs.push_back(value);
      } else {
        reader_.mismatch(element, "a name, null, a number, true or false");
      }
    }
    return outputs;
  }

  /// A program that returns nothing and writes to nothing cannot be told from any other.
  void check_effect(const ProgramParts& parts) {
    if (!result_.program.outputs.empty() || parts.writes || reader_.failed()) return;
    reader_.error("/outputs", "found no output, and no step that writes to a tensor",
                  "name what the program returns, or null");
  }

  void note_parts(const ProgramParts& parts) {
    if (result_.lacking.empty()) result_.lacking = parts.lacking;
    for (const std::string& name : parts.operators) {
      if (!contains(result_.operators, name)) result_.operators.push_back(name);
    }
  }

  /// What the file writes out; gives its outputs.
  std::vector<Value> steps(ProgramParts& parts) {
    if (const auto steps = reader_.required(root_, "steps", "what the program does")) {
      decode_steps(reader_, *steps, context_, scope_, parts, EndsBeside::yes);
      if ((*steps)->is_array() && (*steps)->empty()) reader_.mismatch(*steps, "at least one step");
    }
    const auto names = reader_.required(root_, "outputs", "the names that the program returns");
    return names ? decode_outputs(*names) : std::vector<Value>();
  }

  /// Chooses what a sweep calls, which makes the rest of the file an ordinary case: `swept_` is its
  /// program, and inputs that this call has no use for are no inputs.  Before an operator is
  /// chosen, something stands in for it, so that the rest of the file can be checked.
  void choose_swept() {
    if (!root_->contains("sweep")) return;
    if (const auto beside = reader_.child(root_, "prepare")) {
      reader_.error(beside->pointer, "found `prepare` beside `sweep`, whose inputs the file has",
                    "remove one of them", true);
    }
    Json around;
    if (root_->contains("steps") || root_->contains("outputs")) around = steps_around();
    sweep_ = decode_sweep(reader_, root_);
    if (!sweep_) return;
    const bool listed = sweep_->calls.is_array();
    const std::string called = listed ? sweep_->calls[0][0].get<std::string>() : sweep_->op;
    const Overload* overload = context_.registry == nullptr || called.empty()
                                   ? nullptr
                                   : context_.registry->find_overload(called);
    if (overload == nullptr && !listed) {
      if (context_.registry != nullptr && !context_.missing_is_unsupported)
        check_sweep(reader_, *sweep_, *context_.registry);
      stands_in_ = true;
    }
    swept_ = swept_program(*sweep_, overload, around);
    if (stands_in_ || !(listed || sweep_->gives_tensors())) return;
    const std::set<std::string> used = referred_names(swept_);
    pruned_ = *root_;
    for (const std::string& name : sweep_->inputs) {
      if (used.contains(name)) continue;
      pruned_["inputs"].erase(name);
      left_out_.insert(name);
    }
    root_ = {&pruned_, ""};
  }

  /// The steps and outputs beside a sweep, one of which calls what the sweep chooses.
  Json steps_around() {
    const auto steps =
        reader_.required(root_, "steps", "with a step {\"let\": \"y\", \"op\": \"$op\"}");
    const auto outputs = reader_.required(root_, "outputs", "the names that the program returns");
    if (!steps || !outputs || !(*steps)->is_array()) return nullptr;
    const auto calls = std::count_if((*steps)->begin(), (*steps)->end(), [](const Json& step) {
      return step.is_object() && step.value("op", Json()) == "$op";
    });
    if (calls != 1) {
      reader_.error(
          "/steps",
          fmt::format("found {} steps that call `$op`, expected one beside `sweep`", calls),
          "write {\"let\": \"y\", \"op\": \"$op\"}: the sweep gives it its arguments", true);
    }
    return {{"steps", **steps}, {"outputs", **outputs}};
  }

  /// The program of a sweep; gives its outputs.
  std::vector<Value> sweep(ProgramParts& parts) {
    if (!sweep_) {
      for (auto& [name, known] : scope_.names) known.used = true;  // only its own faults are told
      return returning({"y"});
    }
    DecodeContext context = context_;
    if (stands_in_) {
      context.registry = nullptr;
      parts.lacking = sweep_->tag.empty()
                          ? "operators that a sweep takes"
                          : fmt::format("operators that a sweep of the tag {} takes", sweep_->tag);
      for (auto& [name, known] : scope_.names) known.used = true;
    }
    // Errors point to the rule or the list, for this step is nowhere in the file.
    const bool around = root_->contains("steps");
    const std::string pointer = sweep_->calls.is_array() ? "/sweep/calls" : "/sweep/operators";
    decode_steps(reader_, {&swept_["steps"], around ? "/steps" : pointer}, context, scope_, parts);
    for (auto& [name, known] : scope_.names) {
      // A list of tensors is returned as it is: how many there are, its call decides.
      if (is_swept_result(name) && known.kind == ValueKind::tensor_list)
        known.kind = ValueKind::unknown;
    }
    return decode_outputs({&swept_["outputs"], around ? "/outputs" : pointer});
  }

  void program() {
    Program& program = result_.program;
    for (const auto& [name, known] : scope_.names) program.inputs.push_back(name);
    inputs_.insert(program.inputs.begin(), program.inputs.end());
    ProgramParts parts;
    program.outputs = root_->contains("sweep") ? sweep(parts) : steps(parts);
    for (std::string& name : returned_values(program)) outputs_.insert(std::move(name));
    // A choice of the matrix may be to have none.
    if (const auto node = reader_.child(root_, "backward"); node && !(*node)->is_null())
      backward(*node);
    if (const auto node = reader_.child(root_, "carry")) carry(*node);
    if (!reader_.failed()) check_used(reader_, scope_);
    if (const auto node = reader_.child(root_, "context"))
      program.context = decode_context(reader_, *node, ContextOf::calls);
    check_effect(parts);
    note_parts(parts);
    program.steps = std::move(parts.steps);
    result_.literals = std::move(parts.literals);
  }

  /// Why an input cannot be handed from call to call; empty: it can.
  std::string stays(const std::string& name) const {
    for (const CallSpec& call : result_.calls) {
      for (const InputSpec& input : call.inputs) {
        const auto* tensor = std::get_if<TensorSpec>(&input.value);
        if (tensor == nullptr) continue;
        if (tensor->view_of == name) return fmt::format("`{}` is a view of it", input.name);
        if (input.name != name) continue;
        if (tensor->constant) return "the program closes over it";
        if (tensor->zero_tensor) return "it has no memory";
        if (tensor->quantizer) return "it is quantized";
        if (!tensor->view_of.empty()) return fmt::format("it is a view of `{}`", tensor->view_of);
      }
    }
    return "";
  }

  void carry(const Node& node) {
    if (!node->is_object())
      return reader_.mismatch(node, "an object: an input, and what it is after a call");
    if (result_.calls.size() < 2) {
      reader_.error(node.pointer, "found `carry`, but there is no second call",
                    "\"calls\": [{}, {}] calls the program twice", true);
    }
    for (const auto& [input, value] : node->items()) {
      const Node from{&value, child_pointer(node.pointer, input)};
      const auto name = reader_.text(from, "the name of an output or an input");
      if (!inputs_.contains(input)) {
        reader_.error(from.pointer,
                      fmt::format("found `{}`, expected the name of an input", one_line(input, 60)),
                      suggestion(input, result_.program.inputs), true);
      } else if (const std::string why = stays(input); !why.empty()) {
        reader_.error(from.pointer, fmt::format("`{}` cannot be carried: {}", input, why), "",
                      true);
      }
      if (!name) continue;
      if (!outputs_.contains(*name) && !inputs_.contains(*name)) {
        std::vector<std::string> known(outputs_.begin(), outputs_.end());
        reader_.error(from.pointer,
                      fmt::format("found `{}`, expected the name of an output or an input",
                                  one_line(*name, 60)),
                      suggestion(*name, known));
      }
      result_.program.carry.emplace_back(input, *name);
    }
  }

  void backward(const Node& node) {
    result_.program.backward = decode_backward(reader_, node, outputs_, inputs_, scope_);
    if (with_grad_.empty() && !reader_.failed()) {
      reader_.error(node.pointer, "no input has requires_grad, so there is no gradient to compare",
                    "", true);
    }
  }

  void compare() {
    ComparedNames names;
    for (const auto* group : {&outputs_, &inputs_}) {
      for (const std::string& name : *group) {
        names.known.push_back(name);
        const Scope::Name* named = scope_.find(name);
        if (named == nullptr || named->kind != ValueKind::scalar) names.tensors.push_back(name);
      }
    }
    if (result_.program.backward) {
      for (const std::string& name : with_grad_) names.known.push_back(name + ".grad");
    }
    names.left_out = left_out_;
    result_.compare = decode_compare(reader_, root_, names, root_->contains("sweep"));
  }

  /// In one graph with other cases these would no longer mean what they say.
  void share() {
    if (!result_.share) return;
    const auto refuse = [&](const std::string& beside) {
      reader_.error("/share", fmt::format("found `share` {}", beside),
                    "remove `share`: the case is then compiled alone", true);
    };
    if (result_.prepare) refuse("beside `prepare`, whose inputs belong to one program");
    if (returns_constants(result_.program))
      refuse("with an output that is a constant, which has its name by its place");
    if (result_.raises) refuse("beside `raises`, which would end the other programs as well");
    if (root_->contains("calls")) refuse("beside `calls`: one graph is called once for all");
    for (const std::string& name : result_.operators) {
      if (draws(name)) {
        refuse(
            fmt::format("with {}, whose random numbers depend on what else the graph draws", name));
      }
    }
  }

  /// Torch tags the operators that draw. A public function is known only when it runs.
  void random() {
    if (result_.share) return;
    for (const std::string& name : result_.operators) {
      result_.random = result_.random || name.find("::") == std::string::npos || draws(name);
    }
  }

  void relations() {
    const auto node = reader_.child(root_, "relations");
    if (!node || reader_.failed()) return;
    if (result_.share) {
      reader_.error(node->pointer,
                    "found `relations` beside `share`: the case is called several times",
                    "remove `share`: the case is then compiled alone", true);
    }
    result_.relations = decode_relations(reader_, *node, result_, outputs_);
  }

  bool draws(const std::string& op) const {
    const Overload* overload =
        context_.registry == nullptr ? nullptr : context_.registry->find_overload(op);
    if (overload != nullptr) return overload->has_tag("nondeterministic_seeded");
    // Of what is written in Python nobody can tell.
    return is_prim(op) || (context_.python != nullptr && context_.python->has(op));
  }

  Reader reader_;
  Node root_;
  const DecodeContext& context_;
  Case result_;
  Scope scope_;
  std::set<std::string> with_grad_;
  std::set<std::string> outputs_;
  std::set<std::string> inputs_;
  std::optional<Sweep> sweep_;
  bool stands_in_ = false;          ///< swept_ is of no operator that the registry has
  Json swept_;                      ///< the program of a sweep; nodes point into it
  Json pruned_;                     ///< the file without inputs that the call has no use for
  std::set<std::string> left_out_;  ///< these
};

}  // namespace

std::optional<Case> decode_case(const JsonFile& file, const Json& root, const std::string& id,
                                const DecodeContext& context, Diagnostics& diagnostics) {
  return CaseDecoder(file, root, context, diagnostics).decode(id);
}

}  // namespace lockstep
