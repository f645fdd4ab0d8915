#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "home.h"

namespace lockstep {
namespace {

/// Decodes every instance of a case file; its errors are the file's.  A sweep without a registry
/// has no instances, but its structure is checked.
std::size_t check_case(const CaseFile& file, const Registry* registry, Diagnostics& diagnostics) {
  std::size_t instances = 0;
  for (const MatrixChoice& choice : file.choices) {
    std::vector<std::string> unknown;
    const Json root = substitute(file.file.root, choice, "cpu", unknown);
    // A case for another torch may use what this one lacks.
    const bool foreign =
        registry != nullptr && root.contains(Json::json_pointer("/requires/torch"));
    if (decode_case(file.file, root, file.id, {registry, "cpu", foreign}, diagnostics)) ++instances;
  }
  return registry == nullptr && is_sweep(file) ? 0 : instances;
}

}  // namespace

Exit command_check(const Options& options) {
  Diagnostics diagnostics;
  auto operators = read_registry(options);
  if (!operators) return operators.error();
  const std::optional<Registry>& registry = *operators;
  std::vector<CaseFile> files;
  if (options.select.empty()) {
    auto home = read_files(options, diagnostics);
    if (!home) {
      print_error(home.error());
      return Exit::usage;
    }
    files = std::move(home->suite);
  } else {
    for (const std::string& name : options.select) {
      const std::size_t before = diagnostics.size();
      CaseFile file = read_case_file(name, name, diagnostics);
      if (diagnostics.size() == before) files.push_back(std::move(file));
    }
  }
  if (registry) expand_sweeps(files, &*registry);
  std::size_t instances = 0;
  for (const CaseFile& file : files)
    instances += check_case(file, registry ? &*registry : nullptr, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  const auto sweeps = std::count_if(files.begin(), files.end(), is_sweep);
  std::string operators_as =
      " in structure; operators are not checked, for there is no dump of their schemas";
  if (registry) {
    operators_as = fmt::format(", operators as of torch {}", registry->torch());
  } else if (sweeps > 0) {
    operators_as += fmt::format(", without which {} sweep{} no instances", sweeps,
                                sweeps == 1 ? " has" : "s have");
  }
  fmt::print("{} case{} with {} instance{}: valid{}\n", files.size(), files.size() == 1 ? "" : "s",
             instances, instances == 1 ? "" : "s", operators_as);
  return Exit::ok;
}

}  // namespace lockstep
