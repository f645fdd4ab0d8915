#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/bounded_json.h"
#include "base/files.h"
#include "base/text.h"

namespace lockstep {
namespace {

// Every value is shown with its pointer: these keep pointers short.
constexpr int kDeepest = 64;
constexpr std::size_t kLongestKey = 128;
constexpr int kMostFaults = 200;

Position position_at(std::string_view text, std::size_t offset) {
  Position position;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++position.column;
    }
  }
  return position;
}

/// The key that stands there, in its quotes.
std::string key_text(std::string_view quoted) {
  if (quoted.find('\\') == std::string_view::npos)
    return std::string(quoted.substr(1, quoted.size() - 2));
  const Json name = Json::parse(quoted, nullptr, false);
  return name.is_string() ? name.get<std::string>() : "";
}

/// Extends a pointer by one reference token, escaped.
void add_token(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

/// Walks a well-formed JSON text and reports every value with its pointer and offsets.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  virtual ~Scanner() = default;
  void walk() { value(std::string_view::npos); }

 protected:
  /// `key` is npos for elements of lists and the root.
  virtual void found(const std::string& pointer, std::size_t key, std::size_t begin,
                     std::size_t end) = 0;
  virtual void repeated(const std::string& pointer, std::size_t key) = 0;
  virtual void too_long(const std::string& pointer, std::size_t key) = 0;
  virtual bool enough() const { return false; }

 private:
  void space() {
    const auto is_blank = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  void string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }
  void value(std::size_t key) {
    space();
    const std::size_t begin = at_;
    if (at_ >= text_.size() || enough()) return;
    if (text_[at_] == '{') {
      members();
    } else if (text_[at_] == '[') {
      elements();
    } else if (text_[at_] == '"') {
      string();
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    }
    found(pointer_, key, begin, at_);
  }
  void members() {
    std::set<std::string> seen;
    const std::size_t parent = pointer_.size();
    ++at_;
    for (space(); at_ < text_.size() && text_[at_] != '}' && !enough(); space()) {
      const std::size_t key = at_;
      string();
      std::string token = key_text(text_.substr(key, at_ - key));
      if (token.size() > kLongestKey) too_long(pointer_, key);
      add_token(pointer_, token);
      if (!seen.insert(std::move(token)).second) repeated(pointer_, key);
      space();
      ++at_;  // ':'
      value(key);
      pointer_.resize(parent);
      space();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    ++at_;
  }
  void elements() {
    std::size_t index = 0;
    const std::size_t parent = pointer_.size();
    ++at_;
    for (space(); at_ < text_.size() && text_[at_] != ']' && !enough(); space()) {
      pointer_ += fmt::format("/{}", index++);
      value(std::string_view::npos);
      pointer_.resize(parent);
      space();
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    ++at_;
  }

  std::string pointer_;  ///< of the value at hand: a copy for each would cost their depth
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Adds what the parser of the library lets pass.
class Strictness : public Scanner {
 public:
  Strictness(const JsonFile& file, Diagnostics& diagnostics)
      : Scanner(file.text), file_(file), diagnostics_(diagnostics) {}

 private:
  void add(const std::string& pointer, std::size_t offset, std::string message) {
    ++faults_;
    const Position at = position_at(file_.text, offset);
    diagnostics_.push_back({file_.name, at.line, at.column, pointer, std::move(message), ""});
  }
  void found(const std::string& pointer, std::size_t, std::size_t begin, std::size_t end) override {
    const std::string_view token = std::string_view(file_.text).substr(begin, end - begin);
    constexpr std::size_t kFits = 18;  // so many characters of an integer fit 64 bits
    if (token.empty() || !(token[0] == '-' || (token[0] >= '0' && token[0] <= '9'))) return;
    if (token == "-0") {
      add(pointer, begin,
          "found -0, which is the integer 0 in JSON: write -0.0 for the negative zero");
    } else if (token.size() > kFits && token.find_first_of(".eE") == std::string_view::npos &&
               Json::parse(token, nullptr, false).is_number_float()) {
      add(pointer, begin,
          fmt::format("found the integer {}, expected one of at most 64 bits",
                      one_line(token, 40)));
    }
  }
  void repeated(const std::string& pointer, std::size_t key) override {
    add(pointer, key, "found the same key for the second time in one object");
  }
  void too_long(const std::string& pointer, std::size_t key) override {
    add(pointer, key, fmt::format("found a key of more than {} characters", kLongestKey));
    faults_ = kMostFaults;
  }
  bool enough() const override { return faults_ >= kMostFaults; }

  const JsonFile& file_;
  Diagnostics& diagnostics_;
  int faults_ = 0;
};

class Finder : public Scanner {
 public:
  Finder(std::string_view text, std::string_view pointer, bool key)
      : Scanner(text), pointer_(pointer), key_(key) {}
  std::size_t offset() const { return offset_; }

 private:
  void found(const std::string& pointer, std::size_t key, std::size_t begin, std::size_t) override {
    const bool encloses = pointer_.substr(0, pointer.size()) == pointer &&
                          (pointer_.size() == pointer.size() || pointer_[pointer.size()] == '/');
    // Children are found before their parents: the first that encloses is the nearest.
    if (!encloses || done_) return;
    done_ = true;
    offset_ = key_ && key != std::string_view::npos && pointer == pointer_ ? key : begin;
  }
  void repeated(const std::string&, std::size_t) override {}
  void too_long(const std::string&, std::size_t) override {}
  bool enough() const override { return done_; }

  std::string_view pointer_;
  bool key_;
  bool done_ = false;
  std::size_t offset_ = 0;
};

/// Counts on to where each element of a list begins.
class ElementLines : public Scanner {
 public:
  ElementLines(std::string_view text, std::string_view list)
      : Scanner(text), text_(text), list_(list) {}
  std::vector<int> take() { return std::move(lines_); }

 private:
  void found(const std::string& pointer, std::size_t key, std::size_t begin, std::size_t) override {
    if (key != std::string_view::npos || pointer.size() <= list_.size() ||
        pointer.rfind('/') != list_.size() || !pointer.starts_with(list_))
      return;
    const std::string_view between = text_.substr(at_, begin - at_);
    line_ += static_cast<int>(std::count(between.begin(), between.end(), '\n'));
    at_ = begin;
    lines_.push_back(line_);
  }
  void repeated(const std::string&, std::size_t) override {}
  void too_long(const std::string&, std::size_t) override {}

  std::string_view text_, list_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<int> lines_;
};

/// Position of the first bracket that is nested too deep, or npos.  Strings are skipped; the text
/// may be malformed.
std::size_t too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

void parse_json(JsonFile& file, Diagnostics& diagnostics) {
  const auto add = [&](std::size_t offset, std::string message, std::string hint) {
    const Position at = position_at(file.text, offset);
    diagnostics.push_back({file.name, at.line, at.column, "", std::move(message), std::move(hint)});
  };
  if (const std::size_t deep = too_deep(file.text); deep != std::string_view::npos) {
    add(deep, fmt::format("found more than {} nested lists and objects", kDeepest), "");
    return;
  }
  try {
    file.root = build_json(file.text);
  } catch (const Json::parse_error& error) {
    std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 1,
                                      // column 2: syntax error ..."
    const std::size_t colon = what.find(": ");
    if (colon != std::string::npos) what = what.substr(colon + 2);
    add(error.byte > 0 ? error.byte - 1 : 0, "this is not JSON: " + one_line(what),
        file.text.empty() ? "the file is empty" : "");
    return;
  } catch (const Json::exception& error) {  // a number that overflows a double
    const std::string what = error.what();  // "[...] number overflow parsing '1e999'"
    const std::size_t quote = what.find('\'');
    const std::string token =
        quote == std::string::npos ? "" : what.substr(quote + 1, what.rfind('\'') - quote - 1);
    const std::size_t at = token.empty() ? std::string::npos : file.text.find(token);
    add(at == std::string::npos ? 0 : at,
        fmt::format("found the number {}, which no double can hold", one_line(token, 40)), "");
    return;
  }
  Strictness(file, diagnostics).walk();
}

std::optional<JsonFile> read_json(const std::filesystem::path& path, const std::string& shown,
                                  Diagnostics& diagnostics) {
  auto text = read_file(path, kLargestJson);
  if (!text) {
    diagnostics.push_back({shown, 0, 0, "", text.error().message, text.error().hint});
    return std::nullopt;
  }
  JsonFile file{shown, std::move(*text), {}};
  const std::size_t before = diagnostics.size();
  parse_json(file, diagnostics);
  if (diagnostics.size() > before) return std::nullopt;
  return file;
}

Position locate(std::string_view text, std::string_view pointer, bool key) {
  Finder finder(text, pointer, key);
  finder.walk();
  return position_at(text, finder.offset());
}

std::vector<int> lines_of_elements(std::string_view text, std::string_view pointer) {
  ElementLines lines(text, pointer);
  lines.walk();
  return lines.take();
}

std::string child_pointer(std::string_view pointer, std::string_view token) {
  std::string result(pointer);
  add_token(result, token);
  return result;
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string describe_json(const Json& value) {
  const auto text = [&] {
    return one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
  };
  if (value.is_string()) return "the string " + text();
  if (value.is_number()) return "the number " + text();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_null()) return "null";
  if (value.is_array()) return value.empty() ? "an empty list" : "the list " + text();
  return value.empty() ? "an empty object" : "the object " + text();
}

}  // namespace lockstep
