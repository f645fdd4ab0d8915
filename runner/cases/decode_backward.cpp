#include <fmt/format.h>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {

Backward decode_backward(Reader& reader, const Node& node, const std::set<std::string>& outputs,
                         const std::set<std::string>& inputs, Scope& scope) {
  Backward backward;
  if (!reader.object(node, {"of", "with", "retain_graph", "twice"})) return backward;
  if (const auto names = reader.required(node, "of", "names of outputs")) {
    for (const std::string& name : reader.texts(*names, "a list of names from `outputs`")) {
      if (!outputs.contains(name)) {
        reader.error(names->pointer,
                     fmt::format("found `{}`, expected a name from `outputs`", one_line(name, 60)),
                     suggestion(name, std::vector<std::string>(outputs.begin(), outputs.end())));
      }
      backward.of.push_back(name);
    }
  }
  if (const auto retain = reader.child(node, "retain_graph"))
    backward.retain_graph = reader.boolean(*retain).value_or(false);
  if (const auto twice = reader.child(node, "twice"))
    backward.twice = reader.boolean(*twice).value_or(false);
  const auto given = reader.child(node, "with");
  if (!given || **given == "ones") return backward;
  backward.with.emplace();
  if (!(*given)->is_array()) {
    reader.mismatch(*given, "\"ones\", or a list with the name of an input for each of `of`");
    return backward;
  }
  for (const std::string& name : reader.texts(*given, "names of inputs")) {
    if (!inputs.contains(name)) {
      reader.error(given->pointer,
                   fmt::format("found `{}`, expected the name of an input", one_line(name, 60)));
    } else {
      scope.find(name)->used = true;
    }
    backward.with->push_back(name);
  }
  if (backward.with->size() != backward.of.size()) {
    reader.error(given->pointer, fmt::format("found {} names, expected {}, one for each of `of`",
                                             backward.with->size(), backward.of.size()));
  }
  return backward;
}

}  // namespace lockstep
