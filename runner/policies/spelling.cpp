#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "policies/policy.h"

namespace lockstep {
namespace {

std::string hint_for(std::string_view word) {
  std::vector<std::string> names;
  for (const PolicyInfo& policy : all_policies()) names.emplace_back(policy.name);
  const std::string near = nearest(word, names);
  return near.empty() ? fmt::format("known are {}", enumerate(names))
                      : fmt::format("the nearest known name is '{}'", near);
}

std::string how_to_write(const PolicyInfo& policy) {
  std::vector<std::string> examples;
  for (const std::string_view example : policy.examples) {
    if (!example.empty()) examples.emplace_back(example);
  }
  return "write " + enumerate(examples, "or");
}

/// A recursive descent over `name`, `name(argument, key=argument, ...)`.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Policy> whole() {
    auto policy = one(0);
    if (!policy) return policy;
    skip_blanks();
    if (at_ != text_.size()) {
      return fail(
          fmt::format("'{}' after the end of policy '{}'", text_.substr(at_), text_.substr(0, at_)),
          "write one policy; combine several with any_of(…) or all_of(…)");
    }
    return policy;
  }

 private:
  // Deeper nesting says nothing that a flat list does not, and the recursion is ours to bound.
  static constexpr int kDeepest = 8;

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char character) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != ')' && text_[at_] != ',' &&
           text_[at_] != '=' && text_[at_] != ' ') {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  std::string found() {
    skip_blanks();
    return at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_)) : "the end of the text";
  }

  Result<Policy> one(int depth) {
    if (depth > kDeepest) return fail(fmt::format("policies nested deeper than {}", kDeepest));
    const std::string_view name = word();
    if (name.empty()) return fail(fmt::format("a policy's name expected, found {}", found()));
    const std::span<const PolicyInfo> all = all_policies();
    const auto spelling = std::find_if(all.begin(), all.end(),
                                       [&](const PolicyInfo& each) { return each.name == name; });
    if (spelling == all.end()) {
      return fail(fmt::format("unknown policy '{}'", name), hint_for(name));
    }
    Policy policy;
    policy.kind = spelling->kind;
    policy.parameter = spelling->fallback;
    if (take('(')) {
      if (auto read = arguments(*spelling, policy, depth); !read) {
        return tl::unexpected<Error>(read.error());
      }
      if (!take(')')) return fail(fmt::format("')' expected in '{}', found {}", name, found()));
    }
    if (auto checked = check(*spelling, policy); !checked) {
      return tl::unexpected<Error>(checked.error());
    }
    return policy;
  }

  Result<void> arguments(const PolicyInfo& spelling, Policy& policy, int depth) {
    if (spelling.brackets == Brackets::policies) {
      do {
        auto child = one(depth + 1);
        if (!child) return tl::unexpected<Error>(child.error());
        policy.children.push_back(std::move(*child));
      } while (take(','));
      return {};
    }
    bool first = true;
    do {
      std::string_view value = word();
      std::string_view key;
      if (take('=')) {
        key = value;
        value = word();
      }
      if (auto set = assign(spelling, policy, key, value, first); !set) return set;
      first = false;
    } while (take(','));
    return {};
  }

  Result<void> assign(const PolicyInfo& spelling, Policy& policy, std::string_view key,
                      std::string_view value, bool first) {
    if (value.empty()) {
      return fail(fmt::format("an argument of {} expected, found {}", spelling.name, found()));
    }
    if (spelling.brackets == Brackets::tolerance && key == "k") {
      return integer(spelling, value, policy.terms);
    }
    if (spelling.brackets == Brackets::tolerance && (key == "rtol" || key == "atol")) {
      return number(spelling, value).map([&](double found_number) {
        (key == "rtol" ? policy.rtol : policy.atol) = found_number;
      });
    }
    if (spelling.brackets == Brackets::tensor && key == "dim") {
      return integer(spelling, value, policy.dim);
    }
    if (spelling.brackets == Brackets::tensor && (key == "of" || (key.empty() && first))) {
      policy.of = value;
      return {};
    }
    if (takes_number(spelling) && key.empty() && first) {
      return number(spelling, value).map([&](double found_number) {
        policy.parameter = found_number;
      });
    }
    return fail(fmt::format("{} takes no argument '{}{}{}'", spelling.name, key,
                            key.empty() ? "" : "=", value),
                how_to_write(spelling));
  }

  static bool takes_number(const PolicyInfo& spelling) {
    return spelling.brackets == Brackets::count || spelling.brackets == Brackets::number ||
           spelling.brackets == Brackets::probability;
  }

  static Result<double> number(const PolicyInfo& spelling, std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0) {
      return fail(fmt::format("{} wants a finite number that is not negative, found '{}'",
                              spelling.name, text));
    }
    return value;
  }

  static Result<void> integer(const PolicyInfo& spelling, std::string_view text,
                              std::optional<std::int64_t>& into) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) {
      return fail(fmt::format("{} wants an integer, found '{}'", spelling.name, text));
    }
    into = value;
    return {};
  }

  static Result<void> check(const PolicyInfo& spelling, const Policy& policy) {
    const auto needs = [&](std::string_view what) {
      return fail(fmt::format("{} needs {}", spelling.name, what), how_to_write(spelling));
    };
    if (std::isnan(policy.parameter)) return needs("a number");
    if (spelling.brackets == Brackets::count &&
        (policy.parameter > 0x1p53 || policy.parameter != std::floor(policy.parameter))) {
      return needs("a whole number");
    }
    if (policy.rtol.has_value() != policy.atol.has_value()) return needs("both rtol and atol");
    if (policy.terms && *policy.terms < 1) return needs("a k of at least 1");
    if (spelling.brackets == Brackets::tensor && policy.of.empty()) {
      return needs("the name of the tensor that is indexed");
    }
    if (spelling.brackets == Brackets::probability &&
        !(policy.parameter > 0 && policy.parameter < 1)) {
      return needs("a probability of false alarm between 0 and 1");
    }
    if (spelling.brackets == Brackets::policies && policy.children.empty()) {
      return needs("policies");
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Policy> parse_policy(std::string_view text) { return Parser(text).whole(); }

std::string to_string(const Policy& policy) {
  const PolicyInfo& spelling = info(policy.kind);
  std::vector<std::string> parts;
  switch (spelling.brackets) {
    case Brackets::none:
      break;
    case Brackets::count:
    case Brackets::number:
    case Brackets::probability:
      parts.push_back(fmt::format("{}", policy.parameter));
      break;
    case Brackets::tolerance:
      if (policy.rtol) parts.push_back(fmt::format("rtol={}", *policy.rtol));
      if (policy.atol) parts.push_back(fmt::format("atol={}", *policy.atol));
      if (policy.terms) parts.push_back(fmt::format("k={}", *policy.terms));
      break;
    case Brackets::tensor:
      parts.push_back(policy.of);
      if (policy.dim) parts.push_back(fmt::format("dim={}", *policy.dim));
      break;
    case Brackets::policies:
      for (const Policy& child : policy.children) parts.push_back(to_string(child));
      break;
  }
  if (parts.empty()) return std::string(spelling.name);
  return fmt::format("{}({})", spelling.name, fmt::join(parts, ", "));
}

}  // namespace lockstep
