#include "base/diagnostic.h"

#include <fmt/format.h>

#include <climits>

#include "base/text.h"

namespace lockstep {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = one_line(diagnostic.file, PATH_MAX);
  if (diagnostic.line > 0) text += fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
  text += ": ";
  if (!diagnostic.pointer.empty()) text += diagnostic.pointer + ": ";
  text += diagnostic.message;
  if (!diagnostic.hint.empty()) text += "\n    " + diagnostic.hint;
  return text;
}

}  // namespace lockstep
