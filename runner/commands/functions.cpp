#include "commands/functions.h"

#include <fmt/format.h>

#include "base/reader.h"
#include "base/text.h"
#include "cases/case.h"
#include "run/python_worker.h"
#include "run/workers.h"

namespace lockstep {
namespace {

/// Where a text stands in a document, first; "" where it stands nowhere.
std::string pointer_of(const Json& json, const std::string& text, const std::string& here = "") {
  if (!json.is_structured()) return json == text ? here : "";
  for (const auto& [key, child] : json.items()) {
    std::string found = pointer_of(child, text, child_pointer(here, key));
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

void note_functions(const CaseFile& file, const Case& declared, CalledFunctions& called) {
  if (!declared.requires_torch.empty()) return;
  for (const std::string& name : declared.operators) {
    if (name.starts_with("torch.")) called[&file].insert(name);
  }
}

std::vector<std::string> check_functions(const SessionSettings& settings,
                                         const CalledFunctions& called, Diagnostics& diagnostics) {
  std::set<std::string> all;
  for (const auto& [file, names] : called) all.insert(names.begin(), names.end());
  if (all.empty()) return {};
  const auto answer = ask_python_worker(compiled_or_resident(settings), "backends",
                                        {{"import", Json::array()}, {"functions", all}});
  if (!answer)
    return {fmt::format("not checked whether torch has {}, since the Python worker cannot say: {}",
                        enumerate(std::vector<std::string>(all.begin(), all.end())),
                        answer.error().message)};
  const Json lacking = answer->value("functions", Json::object());
  for (const auto& [file, names] : called) {
    Reader reader(file->file, diagnostics);
    for (const std::string& name : names) {
      if (!lacking.contains(name) || !lacking[name].is_string()) continue;
      reader.error(pointer_of(file->file.root, name),
                   one_line(lacking[name].get<std::string>(), 200),
                   "call what torch.overrides.get_overridable_functions() lists, or its operator "
                   "by `op`");
    }
  }
  return {};
}

}  // namespace lockstep
