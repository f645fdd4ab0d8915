#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/fit_argument.h"
#include "cases/resolve.h"
#include "program/higher_order.h"
#include "program/scalar_operators.h"

namespace lockstep {
namespace {

void remember(std::vector<std::string>& list, const std::string& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

/// Decodes the steps of one list.
class StepDecoder {
 public:
  StepDecoder(Reader& reader, const DecodeContext& context, Scope& scope, ProgramParts& parts,
              EndsBeside ends)
      : reader_(reader), context_(context), scope_(scope), parts_(parts), ends_(ends) {}

  void decode(const Node& step) {
    if (!step->is_object()) return reader_.mismatch(step, "a step: an object");
    source_ = decode_source(reader_, step);
    constexpr std::array kKinds = {"op",     "call", "tensor", "get",  "set",
                                   "scalar", "grad", "with",   "apply"};
    std::string kind;
    for (const char* candidate : kKinds) {
      if (!step->contains(candidate)) continue;
      if (!kind.empty()) {
        reader_.error(
            child_pointer(step.pointer, candidate),
            fmt::format("found both `{}` and `{}` in one step, expected one", kind, candidate), "",
            true);
        names(step, {}, true);
        return;
      }
      kind = candidate;
    }
    if (kind == "op") return op(step);
    if (kind == "call") return call(step);
    if (kind == "tensor") return tensor(step);
    if (kind == "get") return get(step);
    if (kind == "set") return set(step);
    if (kind == "scalar") return scalar(step);
    if (kind == "grad") return grad(step);
    if (kind == "with") return with(step);
    if (kind == "apply") return apply(step);
    names(step, {}, true);
    std::string near;
    for (const auto& [key, value] : step->items()) {
      if (key != "let" && key != "source") near = suggestion(key, {kKinds.begin(), kKinds.end()});
    }
    reader_.error(step.pointer,
                  "found a step that does nothing, expected one of `op`, `call`, `tensor`, `get`, "
                  "`set`, `scalar`, `grad`, `with`, `apply`",
                  near);
  }

 private:
  std::optional<Node> arguments(const Node& step, std::string_view key) {
    auto node = reader_.child(step, key);
    if (!node) return std::nullopt;
    const bool good = key == "args" ? (*node)->is_array() : (*node)->is_object();
    if (good) return node;
    reader_.mismatch(*node,
                     key == "args" ? "a list of arguments" : "an object of arguments by name");
    bad_ = true;
    return std::nullopt;
  }

  /// Marks every "%name" in the arguments as used; an unknown one is an error.
  void use_references(const Node& node) {
    if (node->is_string()) {
      const std::string& text = node->get_ref<const std::string&>();
      if (text.starts_with('%') && !text.starts_with("%%") &&
          !decode_reference(reader_, node, scope_))
        bad_ = true;
    } else if (node->is_array()) {
      for (std::size_t i = 0; i < node->size(); ++i) use_references(reader_.element(node, i));
    } else if (node->is_object()) {
      for (const auto& [key, value] : node->items())
        use_references({&value, child_pointer(node.pointer, key)});
    }
  }

  std::vector<std::optional<std::string>> names(const Node& step,
                                                const std::vector<ValueKind>& kinds, bool effect) {
    return decode_let(reader_, step, scope_, kinds, effect);
  }

  /// A list of one name takes the only tensor of a list, which has a name of its own until then.
  void add_unpacked(const std::optional<Node>& let, std::vector<std::optional<std::string>> names,
                    OpCall call) {
    const bool unpacks = let && (*let)->is_array() && names.size() == 1 && names[0];
    if (!unpacks) return add(std::move(names), std::move(call));
    std::string list = *names[0] + "_list";
    while (scope_.find(list) != nullptr) list += '_';
    scope_.names.emplace_back(list, Scope::Name{ValueKind::tensor_list, let->pointer, true});
    add({list}, std::move(call));
    add(std::move(names), GetItem{{Ref{list}}, {Value{std::int64_t{0}}}});
  }

  /// Whether an operator is one that C++ does not have, and Python does.
  bool written_in_python(const std::string& text) const {
    if (text.find("::") == std::string::npos ||
        (context_.registry != nullptr &&
         context_.registry->find(text.substr(0, text.rfind('.'))) != nullptr))
      return false;
    return is_prim(text) || (context_.python != nullptr && context_.python->has(text));
  }

  /// No schema says what such an operator takes and does: it is called as a function is.
  void python_op(const Node& step, std::string name, Arguments arguments) {
    const std::size_t dot = name.find('.', name.find("::"));
    const bool effect = name.substr(0, dot).ends_with('_');
    if (dot == std::string::npos) name += ".default";
    remember(parts_.operators, name);
    parts_.writes = true;  // it may
    add(names(step, {}, effect || !step->contains("let")),
        FunctionCall{std::move(name), std::move(arguments)});
    bad_ = false;
  }

  void op(const Node& step) {
    reader_.object(step, {"let", "op", "args", "kwargs", "source"});
    const Node name = *reader_.child(step, "op");
    const auto args = arguments(step, "args");
    const auto kwargs = arguments(step, "kwargs");
    if (args) use_references(*args);
    if (kwargs) use_references(*kwargs);
    if (!reader_.text(name, "the name of an operator, such as \"add.Tensor\"")) bad_ = true;
    if (!bad_ && written_in_python(name->get<std::string>()))
      return python_op(step, name->get<std::string>(), plain(args, kwargs));
    OpCall out;
    std::vector<ValueKind> kinds;
    bool effect = false;
    if (!bad_ && context_.registry != nullptr) {
      const auto resolved = resolve(reader_, name, args, kwargs, context_, scope_);
      if (resolved && resolved->op == nullptr) {
        if (parts_.lacking.empty()) parts_.lacking = resolved->lacking;
        parts_.writes = effect = true;  // not known: nothing about it is complained of
      } else if (resolved) {
        out = {resolved->op->name + "." + resolved->overload->name, resolved->arguments};
        kinds = resolved->overload->results;
        effect = resolved->overload->mutates();
        parts_.writes = parts_.writes || effect;
        effect = effect || kinds.empty();
        remember(parts_.operators, out.op);
      }
    } else if (!bad_) {
      const std::string text = name->get<std::string>();
      out = {text.find("::") == std::string::npos ? "aten::" + text : text, plain(args, kwargs)};
      effect = !step->contains("let") || text.substr(0, text.find('.')).ends_with('_');
      parts_.writes = parts_.writes || effect;
      remember(parts_.operators, out.op);
    }
    add_unpacked(reader_.child(step, "let"), names(step, kinds, effect), std::move(out));
    bad_ = false;
  }

  void add(std::vector<std::optional<std::string>> let, decltype(Step::does) does) {
    parts_.steps.push_back({std::move(let), std::move(does), source_});
  }

  /// Arguments without the knowledge of a schema.
  Arguments plain(const std::optional<Node>& args, const std::optional<Node>& kwargs) {
    Arguments result;
    for (std::size_t i = 0; args && i < (*args)->size(); ++i)
      result.args.push_back(decode_plain_value(reader_, reader_.element(*args, i), scope_));
    if (!kwargs) return result;
    for (const auto& [key, value] : (*kwargs)->items()) {
      const std::string pointer = child_pointer(kwargs->pointer, key);
      if (!valid_name(key))
        reader_.error(
            pointer, fmt::format("found `{}`, expected the name of an argument", one_line(key, 60)),
            "", true);
      result.kwargs.emplace_back(key, decode_plain_value(reader_, {&value, pointer}, scope_));
    }
    return result;
  }

  void call(const Node& step) {
    reader_.object(step, {"let", "call", "args", "kwargs", "source"});
    const Node name = *reader_.child(step, "call");
    const auto function =
        reader_.text(name, "the name of a public function, such as \"torch.nn.functional.relu\"");
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    if (function && (!function->starts_with("torch.") ||
                     function->find_first_not_of(kLetters) != std::string::npos)) {
      reader_.mismatch(name, "a dotted name that begins with `torch.`",
                       "allowed is what torch.overrides.get_overridable_functions() lists");
    }
    const auto args = arguments(step, "args");
    const auto kwargs = arguments(step, "kwargs");
    FunctionCall out{function.value_or(""), plain(args, kwargs)};
    if (function) remember(parts_.operators, *function);
    parts_.writes = true;  // it may
    add(names(step, {}, !step->contains("let") || (function && function->ends_with('_'))),
        std::move(out));
    bad_ = false;
  }

  void tensor(const Node& step) {
    reader_.object(step, {"let", "tensor", "source"});
    const Node node = *reader_.child(step, "tensor");
    const auto spec = decode_tensor(reader_, node, true, {});
    auto let = names(step, {ValueKind::tensor}, false);
    if (!spec) return;
    add(std::move(let), LiteralTensor{parts_.literals.size()});
    parts_.literals.push_back(*spec);
  }

  void get(const Node& step) {
    reader_.object(step, {"let", "get", "source"});
    const auto indexed = decode_indexed(reader_, *reader_.child(step, "get"), scope_);
    auto let = names(step, {ValueKind::unknown}, false);
    if (indexed) add(std::move(let), GetItem{{Ref{indexed->name}}, indexed->items});
  }

  /// What is assigned or computed with: a reference or a number, which "-inf" is, too.
  Value number(const Node& node) {
    std::string why;
    if (node->is_string() && !node->get_ref<const std::string&>().starts_with('%')) {
      if (auto fitted = fit_argument(*node, "float", scope_, &why)) return *fitted;
    } else if (!node->is_null() && !node->is_array()) {
      return decode_plain_value(reader_, node, scope_);
    }
    reader_.mismatch(node, "a number, \"inf\", \"-inf\", \"nan\" or a reference, such as \"%x\"");
    return {};
  }

  void set(const Node& step) {
    reader_.object(step, {"set", "to", "source"});
    const auto indexed = decode_indexed(reader_, *reader_.child(step, "set"), scope_);
    const auto to = reader_.required(step, "to", "the value to assign");
    const Value value = to ? number(*to) : Value{};
    parts_.writes = true;
    if (indexed) add({}, SetItem{{Ref{indexed->name}}, indexed->items, value});
  }

  void scalar(const Node& step) {
    reader_.object(step, {"let", "scalar", "source"});
    const Node node = *reader_.child(step, "scalar");
    ScalarCall out;
    std::vector<std::string> known;
    for (const ScalarOperator& each : scalar_operators()) known.emplace_back(each.name);
    if (reader_.list(node, "a list: an operator and its operands, such as [\"mul\", \"%n\", 2]")) {
      if (node->empty()) {
        reader_.mismatch(node, "an operator and its operands");
      } else if (const auto name =
                     reader_.word(reader_.element(node, 0), known, "a scalar operator")) {
        out.name = *name;
        const ScalarOperator& found = *find_scalar_operator(*name);
        if (!found.takes(node->size() - 1)) {
          reader_.error(node.pointer, fmt::format("found {} operands of `{}`, expected {}",
                                                  node->size() - 1, *name, found.arity()));
        }
        for (std::size_t i = 1; i < node->size(); ++i)
          out.operands.push_back(number(reader_.element(node, i)));
      }
    }
    add(names(step, {ValueKind::scalar}, false), std::move(out));
  }

  std::vector<Value> references(const Node& parent, std::string_view key) {
    std::vector<Value> result;
    const auto node = reader_.required(parent, key, "a list of references, such as [\"%y\"]");
    if (!node) return result;
    const bool several = (*node)->is_array();
    for (std::size_t i = 0; i < (several ? (*node)->size() : 1); ++i) {
      if (const auto name =
              decode_reference(reader_, several ? reader_.element(*node, i) : *node, scope_))
        result.push_back({Ref{*name}});
    }
    if (result.empty() && several && (*node)->empty())
      reader_.mismatch(*node, "at least one reference");
    return result;
  }

  void grad(const Node& step) {
    reader_.object(step, {"let", "grad", "source"});
    const Node node = *reader_.child(step, "grad");
    if (!reader_.object(node, {"of", "wrt", "with", "create_graph"})) return;
    GradCall out{references(node, "of"), references(node, "wrt"), std::nullopt, false};
    if (node->contains("with")) out.with = references(node, "with");
    if (const auto create = reader_.child(node, "create_graph"))
      out.create_graph = reader_.boolean(*create).value_or(false);
    if (out.with && out.with->size() != out.of.size()) {
      reader_.error(child_pointer(node.pointer, "with"),
                    fmt::format("found {} tensors, expected {}, one for each of `of`",
                                out.with->size(), out.of.size()));
    }
    auto let = names(step, std::vector<ValueKind>(out.wrt.size(), ValueKind::tensor), false);
    add(std::move(let), std::move(out));
  }

  void apply(const Node& step) {
    const auto args = arguments(step, "args");
    const auto kwargs = arguments(step, "kwargs");
    auto call = decode_apply(reader_, step, plain(args, kwargs), context_, scope_, parts_);
    const std::size_t results = call ? results_of(*call) : 0;
    auto let = names(step, std::vector<ValueKind>(results, ValueKind::tensor), !call);
    if (call && results == 1 && let.size() > 1)
      reader_.error(child_pointer(step.pointer, "let"),
                    fmt::format("found {} names, expected one: there is one result", let.size()));
    if (call) add(std::move(let), std::move(*call));
    bad_ = false;
  }

  void with(const Node& step) {
    reader_.object(step, {"with", "steps", "source"});
    const ContextOf whose = ends_ == EndsBeside::yes ? ContextOf::last_steps : ContextOf::steps;
    Context context = decode_context(reader_, *reader_.child(step, "with"), whose);
    std::vector<Step> outer = std::exchange(parts_.steps, {});
    if (const auto steps = reader_.required(step, "steps", "the steps under the context")) {
      decode_steps(reader_, *steps, context_, scope_, parts_);
    }
    WithBlock block{std::move(context), std::exchange(parts_.steps, std::move(outer))};
    add({}, std::move(block));
  }

  Reader& reader_;
  const DecodeContext& context_;
  Scope& scope_;
  ProgramParts& parts_;
  EndsBeside ends_;
  std::optional<SourceLine> source_;  ///< of the step
  bool bad_ = false;
};

}  // namespace

void decode_steps(Reader& reader, const Node& node, const DecodeContext& context, Scope& scope,
                  ProgramParts& parts, EndsBeside ends) {
  if (!reader.list(node, "a list of steps")) return;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const bool last = i > 0 && i + 1 == node->size();
    StepDecoder(reader, context, scope, parts, last ? ends : EndsBeside::no)
        .decode(reader.element(node, i));
  }
}

}  // namespace lockstep
