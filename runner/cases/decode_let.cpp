#include <fmt/format.h>

#include "cases/decode.h"

namespace lockstep {
namespace {

void define(Reader& reader, Scope& scope, const Node& node, const std::string& name, ValueKind kind,
            bool effect) {
  if (!valid_name(name)) {
    reader.mismatch(
        node, "a name: letters, digits and _, not beginning with a digit, at most 64 characters");
    return;
  }
  if (const Scope::Name* before = scope.find(name)) {
    const int line = reader.full() ? 0 : locate(reader.file().text, before->pointer).line;
    reader.error(node.pointer,
                 fmt::format("found the name `{}` for the second time; it is defined in line {}",
                             name, line));
    return;
  }
  scope.names.emplace_back(name, Scope::Name{kind, node.pointer, effect});
}

}  // namespace

std::vector<std::optional<std::string>> decode_let(Reader& reader, const Node& step, Scope& scope,
                                                   const std::vector<ValueKind>& kinds,
                                                   bool effect) {
  std::vector<std::optional<std::string>> result;
  const auto let = reader.child(step, "let");
  if (!let) {
    if (!effect)
      reader.error(step.pointer, "the key `let` is missing: a name for the result",
                   "a step without a result is one that changes a tensor in place");
    return result;
  }
  // Nobody uses what the step makes, and it stays where it is.
  if ((*let)->is_null()) return {std::nullopt};
  const bool several = (*let)->is_array();
  const std::size_t count = several ? (*let)->size() : 1;
  // A list of one tensor is unpacked, too; what is not known may be one.
  const bool only =
      count == 1 && (kinds.empty() || (kinds.size() == 1 && kinds[0] == ValueKind::tensor_list));
  if (several && count < 2 && !only) reader.mismatch(*let, "a name, or a list of two or more");
  for (std::size_t i = 0; i < count; ++i) {
    const Node node = several ? reader.element(*let, i) : *let;
    if (several && node->is_null()) {
      result.push_back(std::nullopt);
      continue;
    }
    const auto name = reader.text(node, "a name");
    if (!name) continue;
    // Several names for one result unpack a list of tensors.
    const bool unpacked = several && kinds.size() == 1 && kinds[0] == ValueKind::tensor_list;
    const ValueKind kind = unpacked  ? ValueKind::tensor
                           : several ? (i < kinds.size() ? kinds[i] : ValueKind::unknown)
                                     : (kinds.size() == 1 ? kinds[0] : ValueKind::unknown);
    define(reader, scope, node, *name, kind, effect);
    result.push_back(*name);
  }
  if (several && kinds.size() > 1 && count != kinds.size()) {
    reader.error(
        let->pointer,
        fmt::format(
            "found {} names, expected {}, one for each result (null where it is not needed)", count,
            kinds.size()));
  }
  if (!several && kinds.size() > 1) {
    reader.error(let->pointer, fmt::format("found one name, expected a list of {}, one for each "
                                           "result (null where it is not needed)",
                                           kinds.size()));
  }
  return result;
}

}  // namespace lockstep
