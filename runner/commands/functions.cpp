#include "commands/functions.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/reader.h"
#include "base/text.h"
#include "cases/decode.h"
#include "run/python_worker.h"
#include "run/workers.h"

namespace lockstep {
namespace {

/// The public functions that a file calls, whatever is chosen of its matrix; none of a case that
/// demands another torch, which may have what this one lacks.
std::set<std::string> functions_of(const CaseFile& file, const Registry* registry,
                                   const PythonOperators* python) {
  std::set<std::string> names;
  for (const MatrixChoice& choice : file.choices) {
    Diagnostics ignored;
    std::vector<std::string> unknown;
    const auto declared = decode_case(file.file, substitute(file.file.root, choice, "cpu", unknown),
                                      file.id, {registry, "cpu", false, python}, ignored);
    if (!declared || !declared->requires_torch.empty()) continue;
    for (const std::string& name : declared->operators) {
      if (name.starts_with("torch.")) names.insert(name);
    }
  }
  return names;
}

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

std::vector<std::string> check_functions(const SessionSettings& settings,
                                         const std::vector<CaseFile>& files,
                                         const Registry* registry, const PythonOperators* python,
                                         Diagnostics& diagnostics) {
  std::map<const CaseFile*, std::set<std::string>> called;
  std::set<std::string> all;
  for (const CaseFile& file : files) {
    auto names = functions_of(file, registry, python);
    if (names.empty()) continue;
    all.insert(names.begin(), names.end());
    called.emplace(&file, std::move(names));
  }
  if (all.empty()) return {};
  const auto answer =
      ask_python_worker(settings.python, "backends",
                        {{"import", Json::array()}, {"functions", all}}, {python_path(settings)});
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
