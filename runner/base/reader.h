#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lockstep {

/// A value of a JSON file with the way to it.
struct Node {
  const Json* json = nullptr;
  std::string pointer;

  const Json& operator*() const { return *json; }
  const Json* operator->() const { return json; }
};

/// Reads values of one file and collects what is wrong with them: nothing stops at the first error.
class Reader {
 public:
  Reader(const JsonFile& file, Diagnostics& diagnostics) : file_(file), diagnostics_(diagnostics) {}

  /// Adds a diagnostic at a value (or, with `key`, at its key).  The same one twice (from two
  /// matrix instances) is kept once.
  void error(std::string_view pointer, std::string message, std::string hint = {},
             bool key = false);
  /// "found <value>, expected <expected>".
  void mismatch(const Node& node, std::string_view expected, std::string hint = {});
  /// From now on what is wrong is said as `retell` wants it, who gets the pointer and the message
  /// and may change both; null: as it is found.  For values that were made of several in the file.
  void retell(std::function<void(std::string& pointer, std::string& message)> retell) {
    retell_ = std::move(retell);
  }
  bool failed() const { return failures_ > 0; }
  /// Whether no more errors are shown: then nothing needs to be found out about them.
  bool full() const;
  /// As the free function, but nothing once the reader is full: it walks through all names.
  std::string suggestion(std::string_view found, const std::vector<std::string>& known) const;
  int failures() const { return failures_; }

  /// Whether it is an object, all of whose keys are among the known ones; every unknown key is an
  /// error with the nearest known name.
  bool object(const Node& node, std::initializer_list<std::string_view> known);
  bool list(const Node& node, std::string_view expected);
  std::optional<Node> child(const Node& node, std::string_view key) const;
  /// As child, but its absence is an error.
  std::optional<Node> required(const Node& node, std::string_view key, std::string_view what);
  Node element(const Node& node, std::size_t index) const;

  std::optional<std::string> text(const Node& node, std::string_view expected = "a string");
  std::optional<std::int64_t> integer(const Node& node, std::int64_t least, std::int64_t greatest,
                                      std::string_view expected);
  std::optional<bool> boolean(const Node& node);
  std::optional<double> number(const Node& node, std::string_view expected = "a number");
  std::vector<std::string> texts(const Node& node, std::string_view expected);
  /// Visits the strings of a list with their nodes; what is no list or no string is passed over.
  template <typename Visit>
  void each_text(const std::optional<Node>& list, Visit&& visit) const {
    for (std::size_t i = 0; list && (*list)->is_array() && i < (*list)->size(); ++i) {
      if (const Node item = element(*list, i); item->is_string())
        visit(item, item->template get<std::string>());
    }
  }
  /// Demands the key `format` with the number of such files (docs/reference/formats.md).
  void format(const Node& document, std::int64_t number = 1);
  /// One of a closed list of words.
  std::optional<std::string> word(const Node& node, const std::vector<std::string>& words,
                                  std::string_view what);

  const JsonFile& file() const { return file_; }

 private:
  const JsonFile& file_;
  Diagnostics& diagnostics_;
  std::function<void(std::string&, std::string&)> retell_;
  int failures_ = 0;
};

/// "did you mean `x`?" or, when nothing is near, "known are a, b and c" for short lists.
std::string suggestion(std::string_view found, const std::vector<std::string>& known);

}  // namespace lockstep
