#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace lockstep {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

/// Length of the code point that begins at `at` in valid UTF-8.
std::size_t length_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && continues(text[end])) ++end;
  return end - at;
}

/// End of the terminal sequence that begins with the escape character at `at`.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  if (i == text.size()) return i;
  if (text[i] == '[') {  // CSI: parameters, then one final character
    for (++i; i < text.size() && text[i] >= 0x20 && text[i] < 0x40; ++i) {
    }
    return i < text.size() && text[i] >= 0x40 && text[i] < 0x7f ? i + 1 : i;
  }
  if (text[i] == ']') {  // OSC: up to BEL or ESC \; without either it is not one
    const std::size_t end = text.find_first_of("\a\x1b\n", i);
    if (end == std::string_view::npos || text[end] == '\n') return at + 1;
    return text[end] == '\a' ? end + 1 : std::min(end + 2, text.size());
  }
  return at + 1;
}

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

/// Whether nothing but blanks is before a place in its line; what is no ASCII may be a blank, too.
bool begins_line(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] != '\n') {
    const auto before = static_cast<unsigned char>(text[--at]);
    if (before > ' ' && before < 0x80) return false;
  }
  return true;
}

bool harmless(std::string_view point) {
  if (point.size() == 1)
    return point[0] == '\n' || point[0] == '\t' || (point[0] >= ' ' && point[0] != 0x7f);
  if (point.size() == 2)
    return !(point[0] == '\xC2' && static_cast<unsigned char>(point[1]) < 0xA0);
  if (point.size() == 3) {
    // U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FFFE, U+FFFF.
    const std::string_view head = point.substr(0, 2);
    const auto last = static_cast<unsigned char>(point[2]);
    if (head == "\xE2\x80")
      return !(last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE));
    if (head == "\xE2\x81") return !(last >= 0xA6 && last <= 0xA9);
    if (head == "\xEF\xBF") return last < 0xBE;
  }
  return true;
}

/// The lines in which a compiler of C++ says what is wrong, at most `limit` bytes: it says a lot
/// before and after them.
std::string error_lines(std::string_view text, std::size_t limit) {
  std::string found;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find(" error: ") == std::string_view::npos || found.size() + line.size() > limit)
      continue;
    found += fmt::format("{}\n[...]\n", line);
  }
  return found;
}

}  // namespace

std::string clean(std::string_view raw) {
  const std::string text = valid_utf8(raw);
  std::string result;
  result.reserve(text.size());
  const auto is_plain = [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t'; };
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {  // most of it, which goes over in one piece
      std::size_t end = at + 1;
      while (end < text.size() && is_plain(text[end])) ++end;
      result.append(text, at, end - at);
      at = end;
      continue;
    }
    if (text[at] == '\x1b') {
      at = end_of_escape(text, at);
      continue;
    }
    if (text[at] == '\r') {
      if (at + 1 == text.size() || text[at + 1] != '\n') result += '\n';
      ++at;
      continue;
    }
    const std::string_view point = std::string_view(text).substr(at, length_at(text, at));
    if (harmless(point)) result += point;
    at += point.size();
  }
  return disarmed(result);
}

std::string disarmed(std::string_view text) {
  std::vector<std::size_t> breaks;  // behind which characters
  const auto each = [&](std::string_view word, std::size_t behind, auto&& is_command) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
      if (is_command(at)) breaks.push_back(at + behind);
    }
  };
  each("::", 0, [&](std::size_t at) { return begins_line(text, at); });
  each("##", 0, [&](std::size_t at) {
    const std::string_view rest = text.substr(at + 2);
    return begins_with(rest, "[") || begins_with(rest, "vso[") || begins_with(rest, "teamcity[");
  });
  each("section_", 6, [&](std::size_t at) {
    const std::string_view rest = text.substr(at + 8);
    return begins_with(rest, "start:") || begins_with(rest, "end:");
  });
  std::sort(breaks.begin(), breaks.end());
  std::string result;
  std::size_t done = 0;
  for (const std::size_t at : breaks) {
    result += text.substr(done, at + 1 - done);
    result += ' ';
    done = at + 1;
  }
  return result += text.substr(done);
}

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t head = limit / 3;
  std::size_t tail = text.size() - (limit - head);
  while (head > 0 && continues(text[head])) --head;
  while (tail < text.size() && continues(text[tail])) ++tail;
  const std::string errors =
      error_lines(std::string_view(text).substr(head, tail - head), limit / 3);
  // What was in the middle of a line may begin one now.
  return disarmed(fmt::format("{}\n[... {} bytes left out ...]\n{}{}", text.substr(0, head),
                              grouped(tail - head), errors, text.substr(tail)));
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += continues(byte) ? 0u : 1u;
  return count;
}

std::string cut_columns(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t taken = 0; taken + 1 < width; ++taken) end += length_at(text, end);
  return std::string(text.substr(0, end)) + "…";
}

std::string wrapped(const std::string& text, std::size_t width) {
  if (width == 0) return text;
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string margin(indent + 4, ' ');
    std::size_t column = 0, word_columns = 0;
    std::string word, blanks;
    const auto put_word = [&] {
      if (word.empty()) return;
      if (column > indent && column + blanks.size() + word_columns > width) {
        result += "\n" + margin;
        column = margin.size();
      } else {
        result += blanks;
        column += blanks.size();
      }
      result += word;
      column += word_columns;
      word.clear();
      blanks.clear();
      word_columns = 0;
    };
    if (line.find("lockstep run ") != std::string::npos ||
        line.find("lockstep report ") != std::string::npos) {
      result += line + "\n";
      continue;
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b') {  // up to its "m"
        const std::size_t last = std::min(line.find('m', i), line.size() - 1);
        word += line.substr(i, last + 1 - i);
        i = last;
      } else if (line[i] == ' ') {
        put_word();
        blanks += ' ';
      } else {
        word += line[i];
        word_columns += (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
      }
    }
    put_word();
    result += "\n";
  }
  return disarmed(result);
}

}  // namespace lockstep
