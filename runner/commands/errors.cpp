#include "commands/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

namespace lockstep {

void print_error(const Error& error) {
  fmt::print(stderr, "lockstep: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "    {}\n", error.hint);
}

void print_diagnostics(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  });
  for (const Diagnostic& diagnostic : sorted) fmt::print(stderr, "{}\n", to_string(diagnostic));
  std::vector<std::string> files;
  for (const Diagnostic& diagnostic : sorted) {
    if (files.empty() || files.back() != diagnostic.file) files.push_back(diagnostic.file);
  }
  fmt::print(stderr, "lockstep: {} error{} in {} file{}\n", sorted.size(),
             sorted.size() == 1 ? "" : "s", files.size(), files.size() == 1 ? "" : "s");
}

Exit tell(const Failure& failure) {
  for (const Error& error : failure.errors) print_error(error);
  print_diagnostics(failure.diagnostics);
  return failure.exit;
}

bool write_answer(const std::filesystem::path& file, std::string_view text) {
  if (file.empty()) {
    fmt::print("{}", text);
    return true;
  }
  if ((std::ofstream(file, std::ios::binary | std::ios::trunc) << text).flush()) return true;
  print_error({fmt::format("cannot write {}", file.string()), ""});
  return false;
}

}  // namespace lockstep
