#include "reports/markup.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// The text without what must not be shown, and with a reference for each of the characters.
std::string escape(std::string_view raw, std::string_view characters) {
  std::string result;
  for (const char c : clean(raw)) {
    if (characters.find(c) == std::string_view::npos) {
      result += c;
      continue;
    }
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += fmt::format("&#{};", static_cast<int>(c));
    }
  }
  return result;
}

}  // namespace

std::string xml_text(std::string_view raw) {
  return escape(raw, "&<>");  // ">" for the sake of "]]>"
}

std::string xml_attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escape(value, "&<>\"\n\t"));
}

std::string unmarked(std::string_view raw) {
  std::string text(raw);
  for (const std::string_view mark : {"[[PROPERTY|", "[[ATTACHMENT|"}) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
      text.insert(at + 1, " ");
  }
  return text;
}

std::string html_text(std::string_view raw) { return escape(raw, "&<>\"'"); }

std::string url_path(std::string_view path) {
  std::string address;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    address += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address;
}

std::string link_to(std::string_view address) {
  return fmt::format("<a href=\"{0}\">{0}</a>", html_text(address));
}

std::string glyph_markup(std::string_view glyph) {
  return fmt::format("<span class=\"glyph\" aria-hidden=\"true\">{}</span>", glyph);
}

std::string copied_command(std::string_view words) {
  return words.empty() ? ""
                       : fmt::format(
                             "<p class=\"command\"><code>{0}</code> <button type=\"button\" "
                             "class=\"copy\" hidden>copy</button></p>\n",
                             html_text(one_line(words, 2000)));
}

std::string filled(std::string_view page, const std::map<std::string_view, std::string>& parts) {
  std::string result;
  std::string_view rest = page;
  while (true) {
    const std::size_t begin = rest.find("{{");
    const std::size_t end = rest.find("}}", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    result += rest.substr(0, begin);
    const auto part = parts.find(rest.substr(begin + 2, end - begin - 2));
    if (part != parts.end()) result += part->second;
    rest.remove_prefix(end + 2);
  }
  return result += rest;
}

std::string markdown(std::string_view text, std::size_t limit) {
  std::string result;
  for (const char c : one_line(clean(text), limit)) {
    if (std::string_view("\\`*_{}[]()<>#+-!|~&\"'@:$").find(c) != std::string_view::npos) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string markdown_code(std::string_view text) {
  return "<code>" + markdown(text, 2000) + "</code>";
}

}  // namespace lockstep
