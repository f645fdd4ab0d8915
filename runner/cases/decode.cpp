#include "cases/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostCalls = 100;

/// Decodes one case; a method for each key of the file.
class CaseDecoder {
 public:
  CaseDecoder(const JsonFile& file, const Json& root, const DecodeContext& context,
              Diagnostics& diagnostics)
      : reader_(file, diagnostics), root_{&root, ""}, context_(context) {}

  std::optional<Case> decode(const std::string& id) {
    result_.id = id;
    result_.file = reader_.file().name;
    if (!reader_.object(root_, {"$schema", "format",  "title",     "comment",  "links", "tags",
                                "matrix",  "sweep",   "requires",  "only",     "seed",  "context",
                                "prepare", "inputs",  "steps",     "backward", "calls", "outputs",
                                "compare", "strides", "pointwise", "share",    "raises"})) {
      return std::nullopt;
    }
    reader_.format(root_);
    decode_header(reader_, root_, result_);
    prepare();
    inputs();
    program();
    compare();
    share();
    if (reader_.failed()) return std::nullopt;
    return std::move(result_);
  }

 private:
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
    Json outputs = Json::array();
    if (const auto names =
            reader_.required(*node, "outputs", "names of steps that become inputs")) {
      outputs = output_names(*names, scope);
      for (const Json& name : outputs) {
        const Scope::Name* known = scope.find(name.get<std::string>());
        scope_.names.emplace_back(name.get<std::string>(),
                                  Scope::Name{ValueKind::tensor, known->pointer, false});
      }
    }
    unused(scope);
    if (const auto grads = reader_.child(*node, "requires_grad")) {
      prepare.requires_grad = reader_.texts(*grads, "a list of names from `outputs`");
      for (const std::string& name : prepare.requires_grad) {
        if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) {
          reader_.error(grads->pointer, fmt::format("found `{}`, expected a name from `outputs`",
                                                    one_line(name, 60)));
        } else {
          with_grad_.insert(name);
        }
      }
    }
    Json context = Json::object();
    if (const auto declared = reader_.child(*node, "context"))
      context = decode_context(reader_, *declared);
    note_parts(parts);
    prepare.program = {{"inputs", Json::array()},
                       {"steps", parts.steps},
                       {"outputs", outputs},
                       {"context", context},
                       {"backward", nullptr}};
    prepare.literals = std::move(parts.literals);
    result_.prepare = std::move(prepare);
  }

  /// The inputs of one call.
  CallSpec decode_inputs(const Node& node) {
    CallSpec call;
    if (!node->is_object()) {
      reader_.mismatch(node, "an object of inputs by name");
      return call;
    }
    for (const auto& [name, value] : node->items()) {
      const Node input{&value, child_pointer(node.pointer, name)};
      if (!valid_name(name)) {
        reader_.error(input.pointer,
                      fmt::format("found the name `{}`, expected letters, digits and _, not "
                                  "beginning with a digit, at most 64 characters",
                                  one_line(name, 60)),
                      "", true);
        continue;
      }
      if (auto scalar = decode_scalar(input)) {
        call.inputs.push_back({name, std::move(*scalar)});
      } else if (auto tensor = decode_tensor(reader_, input, false, call.inputs)) {
        call.inputs.push_back({name, std::move(*tensor)});
      } else {
        call.inputs.push_back({name, Json()});  // known, so that only its own fault is told
      }
    }
    return call;
  }

  /// {"int": 3}, {"float": 0.5}, {"bool": true}.
  std::optional<Json> decode_scalar(const Node& input) {
    for (const std::string_view kind : {"int", "float", "bool"}) {
      const auto value = reader_.child(input, kind);
      if (!value) continue;
      reader_.object(input, {kind});
      if (kind == "bool") return Json(reader_.boolean(*value).value_or(false));
      if (kind == "int")
        return Json(reader_.integer(*value, INT64_MIN, INT64_MAX, "an integer").value_or(0));
      if ((*value)->is_string() &&
          ((**value) == "inf" || (**value) == "-inf" || (**value) == "nan")) {
        return Json{{"float", (*value)->get<std::string>()}};
      }
      return wire_float(
          reader_.number(*value, "a number, \"inf\", \"-inf\" or \"nan\"").value_or(0));
    }
    return std::nullopt;
  }

  void inputs() {
    static const Json nothing = Json::object();
    const auto declared = reader_.child(root_, "inputs");
    const Node node = declared.value_or(Node{&nothing, ""});
    const auto define = [&](const CallSpec& call) {
      for (const InputSpec& input : call.inputs) {
        const auto* tensor = std::get_if<TensorSpec>(&input.value);
        const std::string pointer = child_pointer(node.pointer, input.name);
        if (scope_.find(input.name) != nullptr) {
          reader_.error(pointer,
                        fmt::format("found the input `{}` among the outputs of `prepare` as well",
                                    input.name),
                        "", true);
        }
        scope_.names.emplace_back(
            input.name,
            Scope::Name{tensor != nullptr ? ValueKind::tensor : ValueKind::scalar, pointer, false});
        if (tensor != nullptr && tensor->requires_grad) with_grad_.insert(input.name);
      }
    };
    const auto calls = reader_.child(root_, "calls");
    if (!calls) {
      result_.calls.push_back(decode_inputs(node));
      define(result_.calls.front());
      return;
    }
    if (!reader_.list(*calls, "a list of calls, each an object of what its inputs have otherwise"))
      return define(decode_inputs(node));  // so that steps find the names
    if ((*calls)->empty()) reader_.mismatch(*calls, "at least one call");
    if ((*calls)->size() > kMostCalls) {  // each copies the inputs
      reader_.error(calls->pointer, fmt::format("found {} calls, expected at most {}",
                                                (*calls)->size(), kMostCalls));
      return define(decode_inputs(node));
    }
    const int before = reader_.failures();
    merged_.reserve((*calls)->size());  // nodes point into it
    for (std::size_t i = 0; i < (*calls)->size(); ++i) {
      const Node call = reader_.element(*calls, i);
      merged_.push_back(*node);
      if (!call->is_object()) {
        reader_.mismatch(call, "an object of inputs by name");
        continue;
      }
      for (const auto& [name, changes] : call->items()) {
        const std::string pointer = child_pointer(call.pointer, name);
        if (!merged_.back().contains(name) || !merged_.back()[name].is_object() ||
            !changes.is_object()) {
          reader_.error(
              pointer,
              fmt::format(
                  "found `{}`, expected the name of an input with an object of what is otherwise",
                  one_line(name, 60)),
              "", true);
          continue;
        }
        for (const auto& [key, value] : changes.items()) merged_.back()[name][key] = value;
      }
      if (reader_.failures() > before) continue;
      // What is wrong with a merged input is shown at the call that made it.
      const int calls_before = reader_.failures();
      CallSpec decoded = decode_inputs({&merged_.back(), node.pointer});
      if (reader_.failures() > calls_before)
        reader_.error(call.pointer, "with these changes the inputs above do not fit");
      if (i == 0) define(decoded);
      result_.calls.push_back(std::move(decoded));
    }
    if (result_.calls.empty()) define(decode_inputs(node));
  }

  Json output_names(const Node& node, Scope& scope) {
    Json names = Json::array();
    if (!reader_.list(node, "a list of names")) return names;
    if (node->empty()) reader_.mismatch(node, "at least one name");
    for (std::size_t i = 0; i < node->size(); ++i) {
      const Node element = reader_.element(node, i);
      const auto name = reader_.text(element, "a name");
      if (!name) continue;
      Scope::Name* known = scope.find(*name);
      if (known == nullptr) {
        reader_.error(
            element.pointer,
            fmt::format("found `{}`, which no input or step defines", one_line(*name, 60)),
            reader_.suggestion(*name, scope.known()));
        continue;
      }
      known->used = true;
      if (known->kind == ValueKind::tensor_list) {
        reader_.error(
            element.pointer,
            fmt::format("found `{}`, which is a list of tensors, expected a tensor or a scalar",
                        *name),
            fmt::format("unpack it where it is made: \"let\": [\"{0}0\", \"{0}1\"]", *name));
        continue;
      }
      if (std::find(names.begin(), names.end(), *name) != names.end()) {
        reader_.error(element.pointer,
                      fmt::format("found the output `{}` for the second time", *name));
        continue;
      }
      names.push_back(*name);
    }
    return names;
  }

  void unused(const Scope& scope) {
    for (const auto& [name, known] : scope.names) {
      if (!known.used) {
        reader_.error(
            known.pointer, fmt::format("`{}` is used by no step and is no output", name),
            "remove it, or make it an output; write null in `let` for a result that is not needed");
      }
    }
  }

  void note_parts(const ProgramParts& parts) {
    if (result_.lacking.empty()) result_.lacking = parts.lacking;
    for (const std::string& name : parts.operators) {
      if (std::find(result_.operators.begin(), result_.operators.end(), name) ==
          result_.operators.end())
        result_.operators.push_back(name);
    }
  }

  /// What the file writes out; gives its outputs.
  Json steps(ProgramParts& parts) {
    if (const auto steps = reader_.required(root_, "steps", "what the program does")) {
      decode_steps(reader_, *steps, context_, scope_, parts);
      if ((*steps)->is_array() && (*steps)->empty()) reader_.mismatch(*steps, "at least one step");
    }
    const auto names = reader_.required(root_, "outputs", "the names that the program returns");
    return names ? output_names(*names, scope_) : Json::array();
  }

  /// The one call that a sweep makes of the operator that was chosen; gives its outputs.  Before an
  /// operator is chosen, something stands in for it, so that the rest of the file can be checked.
  Json sweep(ProgramParts& parts) {
    for (const std::string_view key : {"steps", "outputs", "prepare"}) {
      if (const auto beside = reader_.child(root_, key)) {
        reader_.error(beside->pointer,
                      fmt::format("found `{}` beside `sweep`, which makes the program itself", key),
                      "remove one of them", true);
      }
    }
    const auto declared = decode_sweep(reader_, root_);
    if (!declared) {
      for (auto& [name, known] : scope_.names) known.used = true;  // only its own faults are told
      return Json::array({"y"});
    }
    DecodeContext context = context_;
    const Overload* overload = nullptr;
    if (context_.registry != nullptr && !declared->op.empty())
      overload = context_.registry->find_overload(declared->op);
    if (overload == nullptr) {
      if (context_.registry != nullptr && !context_.missing_is_unsupported)
        check_sweep(reader_, *declared, *context_.registry);
      context.registry = nullptr;
      parts.lacking = fmt::format("operators that a sweep of the tag {} takes", declared->tag);
    }
    swept_ = swept_program(*declared, overload);
    // Errors point to the rule, for the steps are nowhere in the file.
    decode_steps(reader_, {&swept_["steps"], "/sweep/operators"}, context, scope_, parts);
    return output_names({&swept_["outputs"], "/sweep/operators"}, scope_);
  }

  void program() {
    Json input_names = Json::array();
    for (const auto& [name, known] : scope_.names) input_names.push_back(name);
    std::set<std::string> inputs;
    for (const Json& name : input_names) inputs.insert(name.get<std::string>());
    ProgramParts parts;
    Json outputs = root_->contains("sweep") ? sweep(parts) : steps(parts);
    for (const Json& name : outputs) outputs_.insert(name.get<std::string>());
    Json backward;
    if (const auto node = reader_.child(root_, "backward"))
      backward = decode_backward(*node, inputs);
    if (!reader_.failed()) unused(scope_);
    Json context = Json::object();
    if (const auto node = reader_.child(root_, "context")) context = decode_context(reader_, *node);
    note_parts(parts);
    result_.program = {{"inputs", input_names},
                       {"steps", parts.steps},
                       {"outputs", outputs},
                       {"context", context},
                       {"backward", backward}};
    result_.literals = std::move(parts.literals);
    inputs_ = std::move(inputs);
    backward_ = !backward.is_null();
  }

  Json decode_backward(const Node& node, const std::set<std::string>& inputs) {
    if (!reader_.object(node, {"of", "with"})) return nullptr;
    Json of = Json::array();
    if (const auto names = reader_.required(node, "of", "names of outputs")) {
      for (const std::string& name : reader_.texts(*names, "a list of names from `outputs`")) {
        if (!outputs_.contains(name)) {
          reader_.error(
              names->pointer,
              fmt::format("found `{}`, expected a name from `outputs`", one_line(name, 60)),
              suggestion(name, std::vector<std::string>(outputs_.begin(), outputs_.end())));
        }
        of.push_back(name);
      }
    }
    Json with = "ones";
    if (const auto given = reader_.child(node, "with"); given && **given != "ones") {
      with = Json::array();
      if (!(*given)->is_array()) {
        reader_.mismatch(*given, "\"ones\", or a list with the name of an input for each of `of`");
      } else {
        for (const std::string& name : reader_.texts(*given, "names of inputs")) {
          if (!inputs.contains(name)) {
            reader_.error(given->pointer, fmt::format("found `{}`, expected the name of an input",
                                                      one_line(name, 60)));
          } else {
            scope_.find(name)->used = true;
          }
          with.push_back(name);
        }
        if (with.size() != of.size()) {
          reader_.error(given->pointer,
                        fmt::format("found {} names, expected {}, one for each of `of`",
                                    with.size(), of.size()));
        }
      }
    }
    if (with_grad_.empty() && !reader_.failed()) {
      reader_.error(node.pointer, "no input has requires_grad, so there is no gradient to compare",
                    "", true);
    }
    return {{"of", of}, {"with", with}};
  }

  void compare() {
    const auto node = reader_.child(root_, "compare");
    if (!node) return;
    if (!node.value()->is_object())
      return reader_.mismatch(*node, "an object of policies by output");
    std::vector<std::string> known(outputs_.begin(), outputs_.end());
    known.insert(known.end(), inputs_.begin(), inputs_.end());
    if (backward_) {
      for (const std::string& name : with_grad_) known.push_back(name + ".grad");
    }
    const bool swept = root_->contains("sweep");
    for (const auto& [output, value] : (*node)->items()) {
      const Node rule{&value, child_pointer(node->pointer, output)};
      const bool is_known = std::find(known.begin(), known.end(), output) != known.end();
      if (!is_known && !(swept && is_swept_result(output))) {
        reader_.error(rule.pointer,
                      fmt::format("found `{}`, expected an output, an input that is changed, or a "
                                  "gradient such as `x.grad`",
                                  one_line(output, 60)),
                      suggestion(output, known), true);
        continue;
      }
      if (rule->is_string()) {
        add_policy(output, "*", rule);
      } else if (rule->is_object()) {
        for (const auto& [path, policy] : rule->items())
          add_policy(output, path, {&policy, child_pointer(rule.pointer, path)});
      } else {
        reader_.mismatch(rule, "a policy such as \"close\", or an object of policies by path");
      }
    }
    // Not every operator of a sweep has as many results as another.
    std::erase_if(result_.compare, [&](const CompareRule& rule) {
      return std::find(known.begin(), known.end(), rule.output) == known.end();
    });
  }

  /// In one graph with other cases these would no longer mean what they say.
  void share() {
    if (!result_.share) return;
    const auto refuse = [&](const std::string& beside) {
      reader_.error("/share", fmt::format("found `share` {}", beside),
                    "remove `share`: the case is then compiled alone", true);
    };
    if (result_.prepare) refuse("beside `prepare`, whose inputs belong to one program");
    if (result_.raises) refuse("beside `raises`, which would end the other programs as well");
    if (root_->contains("calls")) refuse("beside `calls`: one graph is called once for all");
    for (const std::string& name : result_.operators) {
      const Overload* overload =
          context_.registry == nullptr ? nullptr : context_.registry->find_overload(name);
      if (overload != nullptr && overload->has_tag("nondeterministic_seeded")) {
        refuse(
            fmt::format("with {}, whose random numbers depend on what else the graph draws", name));
      }
    }
  }

  void add_policy(const std::string& output, const std::string& path, const Node& node) {
    const auto text = reader_.text(node, "a policy such as \"close\"");
    if (!text) return;
    auto policy = parse_policy(*text);
    if (!policy) {
      reader_.error(node.pointer, policy.error().message, policy.error().hint);
      return;
    }
    result_.compare.push_back({output, path, std::move(*policy)});
  }

  Reader reader_;
  Node root_;
  const DecodeContext& context_;
  Case result_;
  Scope scope_;
  std::set<std::string> with_grad_;
  std::set<std::string> outputs_;
  std::set<std::string> inputs_;
  std::vector<Json> merged_;
  Json swept_;  ///< the program of a sweep; nodes point into it
  bool backward_ = false;
};

}  // namespace

std::optional<Case> decode_case(const JsonFile& file, const Json& root, const std::string& id,
                                const DecodeContext& context, Diagnostics& diagnostics) {
  return CaseDecoder(file, root, context, diagnostics).decode(id);
}

}  // namespace lockstep
