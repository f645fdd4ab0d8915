#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostOfAPath = 200;
constexpr std::size_t kMostOfAName = 200;
constexpr std::int64_t kLastLine = 10'000'000;

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

/// Whether a path leads down from wherever it begins, in any system's spelling.
bool leads_down(std::string_view path) {
  if (path.empty() || path.find_first_of("\\:") != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::optional<SourceLine> decode_source(Reader& reader, const Node& step) {
  const auto node = reader.child(step, "source");
  if (!node || !reader.object(*node, {"file", "line", "name"})) return std::nullopt;
  const auto file = reader.required(*node, "file", "a relative path, such as \"net.py\"");
  const auto line = reader.required(*node, "line", "the number of a line, from 1");
  const auto path = file ? reader.text(*file, "a relative path, such as \"net.py\"") : std::nullopt;
  if (path && (path->size() > kMostOfAPath || has_control(*path) || !leads_down(*path))) {
    reader.error(file->pointer,
                 fmt::format("found `{}`, expected a relative path of at most {} bytes, with `/` "
                             "and without `..`, `:` and the backslash",
                             one_line(*path, 60), kMostOfAPath));
  }
  const auto number =
      line ? reader.integer(*line, 1, kLastLine, "the number of a line, from 1") : std::nullopt;
  SourceLine source{path.value_or(""), number.value_or(0), ""};
  if (const auto name = reader.child(*node, "name")) {
    source.name = reader.text(*name, "a name, such as \"Net.forward\"").value_or("");
    if (source.name.size() > kMostOfAName || has_control(source.name)) {
      reader.error(name->pointer, fmt::format("found `{}`, expected a name of at most {} bytes",
                                              one_line(source.name, 60), kMostOfAName));
    }
  }
  return path && number ? std::optional(std::move(source)) : std::nullopt;
}

}  // namespace lockstep
