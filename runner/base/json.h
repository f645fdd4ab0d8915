#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/value_files.h"

namespace lockstep {

/// Keeps the order in which a file has its keys.
using Json = nlohmann::ordered_json;

/// A place in a text, 1-based.
struct Position {
  int line = 1;
  int column = 1;
};

/// A JSON file that a person wrote.
struct JsonFile {
  std::string name;  ///< as shown in diagnostics
  std::string text;
  Json root;
  /// Where it lies, for files of values beside it; nothing: it lies nowhere, and there are none.
  std::optional<ValuePlace> place = {};
};

/// Parses the text.  Refused, with a diagnostic each: what is no JSON, keys that occur twice in an
/// object, nesting deeper than 64, numbers that no int64 or double holds.  `file.root` is only
/// meaningful when nothing was added.
void parse_json(JsonFile& file, Diagnostics& diagnostics);

/// What a JSON file may have that a person wrote, or a level: bytes.
constexpr std::size_t kLargestJson = 16 << 20;

/// Reads and parses a file of at most kLargestJson bytes that is called `shown` in diagnostics;
/// nothing, and what is wrong is added, when that fails.
std::optional<JsonFile> read_json(const std::filesystem::path& path, const std::string& shown,
                                  Diagnostics& diagnostics);

/// Where in `text`, which must be well-formed, the value at a JSON pointer begins; where `key` is
/// true, where its key does. The nearest enclosing value when there is no such value.
Position locate(std::string_view text, std::string_view pointer, bool key = false);

/// The lines in which the elements of the list at a JSON pointer begin, in their order, in time
/// that grows with the length of `text` alone, which must be well-formed; none where there is no
/// list.
std::vector<int> lines_of_elements(std::string_view text, std::string_view pointer);

/// `pointer` extended by one reference token, escaped.
std::string child_pointer(std::string_view pointer, std::string_view token);

/// A string as it is, anything else as JSON.
std::string plain_text(const Json& value);

/// What a value is, for messages: `the string "abc"`, `the number 3`, `an object`; long ones are
/// cut.
std::string describe_json(const Json& value);

}  // namespace lockstep
