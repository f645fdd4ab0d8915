#include "base/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr int kMostErrors = 200;

}  // namespace

std::string suggestion(std::string_view found, const std::vector<std::string>& known) {
  if (const std::string near = nearest(found, known); !near.empty())
    return fmt::format("did you mean `{}`?", near);
  if (known.empty() || known.size() > 30) return "";
  return "known are " + enumerate(known);
}

void Reader::error(std::string_view where, std::string message, std::string hint, bool key) {
  ++failures_;
  // Each costs a walk through the file: of a file with a million faults, the first will do.
  if (failures_ > kMostErrors) return;
  std::string pointer(where);
  if (retell_) retell_(pointer, message);
  if (failures_ == kMostErrors) {
    message = "more errors than are shown";
    hint.clear();
  }
  const Position at = locate(file_.text, pointer, key);
  Diagnostic diagnostic{file_.name,         at.line,        at.column, std::move(pointer),
                        std::move(message), std::move(hint)};
  if (std::find(diagnostics_.begin(), diagnostics_.end(), diagnostic) == diagnostics_.end()) {
    diagnostics_.push_back(std::move(diagnostic));
  }
}

bool Reader::full() const { return failures_ >= kMostErrors; }

std::string Reader::suggestion(std::string_view found,
                               const std::vector<std::string>& known) const {
  return full() ? "" : lockstep::suggestion(found, known);
}

void Reader::mismatch(const Node& node, std::string_view expected, std::string hint) {
  error(node.pointer, fmt::format("found {}, expected {}", describe_json(*node), expected),
        std::move(hint));
}

bool Reader::object(const Node& node, std::initializer_list<std::string_view> known) {
  if (!node->is_object()) {
    mismatch(node, "an object");
    return false;
  }
  for (const auto& [key, value] : node->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      error(child_pointer(node.pointer, key),
            fmt::format("found the unknown key `{}`", one_line(key, 60)),
            suggestion(key, std::vector<std::string>(known.begin(), known.end())), true);
    }
  }
  return true;
}

bool Reader::list(const Node& node, std::string_view expected) {
  if (node->is_array()) return true;
  mismatch(node, expected);
  return false;
}

std::optional<Node> Reader::child(const Node& node, std::string_view key) const {
  if (!node->is_object()) return std::nullopt;
  const auto found = node->find(std::string(key));
  if (found == node->end()) return std::nullopt;
  return Node{&*found, child_pointer(node.pointer, key)};
}

std::optional<Node> Reader::required(const Node& node, std::string_view key,
                                     std::string_view what) {
  auto found = child(node, key);
  if (!found && node->is_object())
    error(node.pointer, fmt::format("the key `{}` is missing: {}", key, what));
  return found;
}

Node Reader::element(const Node& node, std::size_t index) const {
  return {&(*node)[index], node.pointer + "/" + std::to_string(index)};
}

std::optional<std::string> Reader::text(const Node& node, std::string_view expected) {
  if (node->is_string()) return node->get<std::string>();
  mismatch(node, expected);
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(const Node& node, std::int64_t least,
                                            std::int64_t greatest, std::string_view expected) {
  const bool fits = node->is_number_unsigned()
                        ? node->get<std::uint64_t>() <= std::uint64_t{INT64_MAX}
                        : node->is_number_integer();
  if (fits) {
    const auto value = node->get<std::int64_t>();
    if (value >= least && value <= greatest) return value;
  }
  mismatch(node, expected);
  return std::nullopt;
}

std::optional<bool> Reader::boolean(const Node& node) {
  if (node->is_boolean()) return node->get<bool>();
  mismatch(node, "true or false");
  return std::nullopt;
}

std::optional<double> Reader::number(const Node& node, std::string_view expected) {
  if (node->is_number()) return node->get<double>();
  mismatch(node, expected);
  return std::nullopt;
}

std::vector<std::string> Reader::texts(const Node& node, std::string_view expected) {
  std::vector<std::string> result;
  if (!list(node, expected)) return result;
  for (std::size_t i = 0; i < node->size(); ++i) {
    if (auto value = text(element(node, i))) result.push_back(std::move(*value));
  }
  return result;
}

void Reader::format(const Node& document, std::int64_t number) {
  if (const auto format = required(document, "format", fmt::format("write \"format\": {}", number)))
    integer(*format, number, number, fmt::format("{}, the only format there is", number));
}

std::optional<std::string> Reader::word(const Node& node, const std::vector<std::string>& words,
                                        std::string_view what) {
  auto value = text(node, what);
  if (!value) return std::nullopt;
  if (contains(words, *value)) return value;
  mismatch(node, what, suggestion(*value, words));
  return std::nullopt;
}

}  // namespace lockstep
