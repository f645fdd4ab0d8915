#include "commands/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "reports/text.h"

namespace lockstep {

void print_people(std::FILE* stream, std::string_view text) {
  fmt::print(stream, "{}", clean(text));
}

void print_error(const Error& error) {
  print_people(stderr, fmt::format("lockstep: {}\n", error.message));
  if (!error.hint.empty()) print_people(stderr, fmt::format("    {}\n", error.hint));
}

void print_diagnostics(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  });
  for (const Diagnostic& diagnostic : sorted) print_people(stderr, to_string(diagnostic) + "\n");
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

namespace {

Exit tell_exceeded() { return tell({Exit::usage, {ReadingMemory::exceeded()}}); }

/// What may not throw can be what asks for the last of the memory, as the destructor of JSON does,
/// which allocates.  Nobody can catch that: the process ends with the same words.
[[noreturn]] void end_exceeded() {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::_Exit(static_cast<int>(tell_exceeded()));
  } catch (...) {  // the handler below says what was thrown
  }
  __gnu_cxx::__verbose_terminate_handler();
  std::abort();
}

}  // namespace

Exit while_reading(const std::function<Exit(ReadingMemory&)>& command) {
  std::set_terminate(end_exceeded);
  try {
    ReadingMemory memory;
    return command(memory);
  } catch (const std::bad_alloc&) {
    return tell_exceeded();
  }
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
