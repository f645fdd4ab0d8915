#include "reports/markup.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

std::string xml(std::string_view raw, bool attribute) {
  std::string result;
  for (const char c : clean(raw)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;  // for the sake of "]]>"
      case '"':
        result += attribute ? "&quot;" : "\"";
        break;
      case '\n':
        result += attribute ? "&#10;" : "\n";
        break;
      case '\t':
        result += attribute ? "&#9;" : "\t";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

std::string xml_text(std::string_view raw) { return xml(raw, false); }

std::string xml_attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, xml(value, true));
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
