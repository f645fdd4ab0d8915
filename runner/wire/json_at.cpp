#include "wire/json_at.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace lockstep::wire {

void broken(std::string_view where, std::string_view what) {
  throw Broken{fmt::format("{}: {}", where.empty() ? "/" : where, what)};
}

tl::unexpected<Error> broken_error(std::string_view what, std::string_view message) {
  return fail(fmt::format("broken {}: {}", what, one_line(message, 600)));
}

JsonAt JsonAt::at(const char* key) const {
  const auto found = json.find(key);
  if (found == json.end()) broken(where, fmt::format("'{}' is missing", key));
  return {*found, child_pointer(where, key)};
}

JsonAt JsonAt::at(std::size_t index) const {
  return {json[index], fmt::format("{}/{}", where, index)};
}

const JsonAt& JsonAt::object() const {
  if (!json.is_object()) wrong("an object");
  return *this;
}

std::size_t JsonAt::array() const {
  if (!json.is_array()) wrong("an array");
  return json.size();
}

std::string JsonAt::string(std::size_t longest) const {
  if (!json.is_string()) wrong("a string");
  const auto& text = json.get_ref<const std::string&>();
  if (text.size() > longest) broken(where, fmt::format("longer than {} bytes", longest));
  return text;
}

std::int64_t JsonAt::integer() const {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>()))) {
    wrong("a 64-bit integer");
  }
  return json.get<std::int64_t>();
}

std::int64_t JsonAt::count() const {
  const std::int64_t value = integer();
  if (value < 0) wrong("an integer that is not negative");
  return value;
}

bool JsonAt::boolean() const {
  if (!json.is_boolean()) wrong("true or false");
  return json.get<bool>();
}

double JsonAt::number() const {
  if (!json.is_number()) wrong("a number");
  return json.get<double>();
}

std::string JsonAt::bounded_text() const {
  constexpr std::size_t kLongest = 16 << 10;
  std::string text = string(std::numeric_limits<std::size_t>::max());
  if (text.size() <= kLongest) return text;
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

double JsonAt::hexadecimal() const {
  const std::string text = string();
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  double value = 0;
  if (rest == "inf") {
    value = HUGE_VAL;
  } else if (rest == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (!rest.starts_with("0x")) wrong("a C99 hexadecimal float");
    rest.remove_prefix(2);
    const auto [end, code] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::hex);
    if (code != std::errc() || end != rest.data() + rest.size() || rest.starts_with('-')) {
      wrong("a C99 hexadecimal float");
    }
  }
  return negative ? -value : value;
}

void JsonAt::wrong(std::string_view expected) const {
  broken(where, fmt::format("{} expected, found {}", expected, describe_json(json)));
}

}  // namespace lockstep::wire
