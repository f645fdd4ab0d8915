#include "cases/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/pattern.h"
#include "base/text.h"

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
    if (!reader_.object(root_,
                        {"$schema",  "format", "title",   "comment", "links",   "tags",   "matrix",
                         "requires", "only",   "seed",    "context", "prepare", "inputs", "steps",
                         "backward", "calls",  "outputs", "compare", "strides", "raises"})) {
      return std::nullopt;
    }
    reader_.format(root_);
    header();
    prepare();
    inputs();
    program();
    compare();
    if (reader_.failed()) return std::nullopt;
    return std::move(result_);
  }

 private:
  void header() {
    if (const auto title =
            reader_.required(root_, "title", "one line that says what the case is about")) {
      const auto text = reader_.text(*title);
      result_.title = text.value_or("");
      if (text && (text->empty() || text->size() > 160 || text->find('\n') != std::string::npos)) {
        reader_.mismatch(*title, "one line of 1 to 160 bytes");
      }
    }
    if (const auto comment = reader_.child(root_, "comment")) reader_.text(*comment);
    if (const auto links = reader_.child(root_, "links")) {
      result_.links = reader_.texts(*links, "a list of links");
      for (std::size_t i = 0; (*links)->is_array() && i < (*links)->size(); ++i) {
        const Node link = reader_.element(*links, i);
        if (link->is_string() && !link->get_ref<const std::string&>().starts_with("https://"))
          reader_.mismatch(link, "a link that begins with https://");
      }
    }
    if (const auto tags = reader_.child(root_, "tags")) {
      result_.tags = reader_.texts(*tags, "a list of tags");
      for (std::size_t i = 0; (*tags)->is_array() && i < (*tags)->size(); ++i) {
        const Node tag = reader_.element(*tags, i);
        if (!tag->is_string()) continue;
        const std::string& text = tag->get_ref<const std::string&>();
        if (text.empty() ||
            text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) {
          reader_.mismatch(tag, "a tag of lower-case letters, digits and -");
        }
      }
    }
    if (const auto needs = reader_.child(root_, "requires");
        needs && reader_.object(*needs, {"torch"})) {
      if (const auto range = reader_.required(*needs, "torch", "a range such as \">=2.14\"")) {
        const auto text = reader_.text(*range);
        if (text && !valid_range(*text))
          reader_.mismatch(*range, "a range such as \">=2.12,<2.14\"");
        result_.requires_torch = text.value_or("");
      }
    }
    if (const auto only = reader_.child(root_, "only");
        only && reader_.object(*only, {"paths", "devices"})) {
      if (const auto paths = reader_.child(*only, "paths"))
        result_.only_paths = reader_.texts(*paths, "a list of globs");
      if (const auto devices = reader_.child(*only, "devices"))
        result_.only_devices = reader_.texts(*devices, "a list of globs");
    }
    if (const auto seed = reader_.child(root_, "seed")) {
      result_.seed = static_cast<std::uint64_t>(
          reader_.integer(*seed, 0, INT64_MAX, "a seed of 0 or more").value_or(0));
    }
    if (const auto strides = reader_.child(root_, "strides")) {
      const auto word = reader_.word(*strides, {"significant", "exact", "ignore"},
                                     "`significant`, `exact` or `ignore`");
      if (word == "exact") result_.strides = StrideRule::exact;
      if (word == "ignore") result_.strides = StrideRule::ignore;
    }
    if (const auto raises = reader_.child(root_, "raises");
        raises && reader_.object(*raises, {"class", "match"})) {
      RaisesRule rule;
      if (const auto name = reader_.child(*raises, "class"))
        rule.class_name = reader_.text(*name, "the name of an exception class").value_or("");
      if (const auto match = reader_.child(*raises, "match")) {
        rule.match = reader_.text(*match, "a regular expression").value_or("");
        if (!is_found(rule.match, "")) {
          reader_.mismatch(*match,
                           "a regular expression (ECMAScript, without back-references, lookahead "
                           "and large counts) of at most 500 characters");
        }
      }
      result_.raises = rule;
    }
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

  void program() {
    Json input_names = Json::array();
    for (const auto& [name, known] : scope_.names) input_names.push_back(name);
    std::set<std::string> inputs;
    for (const Json& name : input_names) inputs.insert(name.get<std::string>());
    ProgramParts parts;
    if (const auto steps = reader_.required(root_, "steps", "what the program does")) {
      decode_steps(reader_, *steps, context_, scope_, parts);
      if ((*steps)->is_array() && (*steps)->empty()) reader_.mismatch(*steps, "at least one step");
    }
    Json outputs = Json::array();
    if (const auto names = reader_.required(root_, "outputs", "the names that the program returns"))
      outputs = output_names(*names, scope_);
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
    for (const auto& [output, value] : (*node)->items()) {
      const Node rule{&value, child_pointer(node->pointer, output)};
      if (std::find(known.begin(), known.end(), output) == known.end()) {
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
  bool backward_ = false;
};

}  // namespace

Json decode_context(Reader& reader, const Node& node) {
  Json context = Json::object();
  if (!reader.object(
          node, {"grad", "inference", "deterministic_algorithms", "autocast", "default_dtype"}))
    return context;
  const auto dtype_name = [&](const Node& value) -> std::optional<std::string> {
    const auto text = reader.text(value, "the name of a floating dtype");
    const Dtype* dtype = text ? find_dtype(*text) : nullptr;
    if (dtype != nullptr && dtype->is_floating()) return text;
    if (text) reader.mismatch(value, "the name of a floating dtype");
    return std::nullopt;
  };
  for (const std::string_view key : {"grad", "inference", "deterministic_algorithms"}) {
    if (const auto flag = reader.child(node, key))
      context[std::string(key)] = reader.boolean(*flag).value_or(false);
  }
  if (const auto autocast = reader.child(node, "autocast");
      autocast && reader.object(*autocast, {"device", "dtype"})) {
    const auto device = reader.required(*autocast, "device", "the kind of device, such as \"cpu\"");
    const auto dtype = reader.required(*autocast, "dtype", "the name of a dtype");
    const auto device_text = device ? reader.text(*device) : std::nullopt;
    if (device_text &&
        (device_text->empty() ||
         device_text->find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)) {
      reader.mismatch(*device, "the kind of device, such as \"cpu\"");
    }
    const auto dtype_text = dtype ? dtype_name(*dtype) : std::nullopt;
    if (device_text && dtype_text)
      context["autocast"] = {{"device", *device_text}, {"dtype", *dtype_text}};
  }
  if (const auto dtype = reader.child(node, "default_dtype")) {
    if (const auto name = dtype_name(*dtype)) context["default_dtype"] = *name;
  }
  return context;
}

std::optional<Case> decode_case(const JsonFile& file, const Json& root, const std::string& id,
                                const DecodeContext& context, Diagnostics& diagnostics) {
  return CaseDecoder(file, root, context, diagnostics).decode(id);
}

}  // namespace lockstep
