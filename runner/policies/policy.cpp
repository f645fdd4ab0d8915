#include "policies/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "base/text.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

/// What may stand in the brackets after a policy's name.
enum class Brackets { none, count, number, tolerance, tensor, policies };

struct Spelling {
  Kind kind;
  std::string_view name;
  Brackets brackets;
  /// Value of the parameter where the text gives none; NaN where it must be given.
  double fallback;
};

constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();

// The one table of spellings, in the order of Policy::Kind.
constexpr std::array kSpellings = {
    Spelling{Kind::bits, "bits", Brackets::none, 0},
    Spelling{Kind::bits_strict, "bits_strict", Brackets::none, 0},
    Spelling{Kind::equal, "equal", Brackets::none, 0},
    Spelling{Kind::ulp, "ulp", Brackets::count, kRequired},
    Spelling{Kind::close, "close", Brackets::tolerance, 0},
    Spelling{Kind::same, "same", Brackets::number, 1e-4},
    Spelling{Kind::same_upstream, "same_upstream", Brackets::number, 1e-4},
    Spelling{Kind::no_worse, "no_worse", Brackets::number, 1},
    Spelling{Kind::stepwise, "stepwise", Brackets::number, 1},
    Spelling{Kind::exact, "exact", Brackets::none, 0},
    Spelling{Kind::index_equivalent, "index_equivalent", Brackets::tensor, 0},
    Spelling{Kind::metadata, "metadata", Brackets::none, 0},
    Spelling{Kind::statistical, "statistical", Brackets::number, 1e-9},
    Spelling{Kind::any_of, "any_of", Brackets::policies, 0},
    Spelling{Kind::all_of, "all_of", Brackets::policies, 0},
};

const Spelling& spelling_of(Kind kind) { return kSpellings[static_cast<std::size_t>(kind)]; }

std::string hint_for(std::string_view word) {
  std::vector<std::string> names;
  for (const Spelling& spelling : kSpellings) names.emplace_back(spelling.name);
  const std::string near = nearest(word, names);
  return near.empty() ? fmt::format("known are {}", enumerate(names))
                      : fmt::format("the nearest known name is '{}'", near);
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
    const auto spelling = std::find_if(kSpellings.begin(), kSpellings.end(),
                                       [&](const Spelling& s) { return s.name == name; });
    if (spelling == kSpellings.end()) {
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

  Result<void> arguments(const Spelling& spelling, Policy& policy, int depth) {
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

  Result<void> assign(const Spelling& spelling, Policy& policy, std::string_view key,
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
    if ((spelling.brackets == Brackets::count || spelling.brackets == Brackets::number) &&
        key.empty() && first) {
      return number(spelling, value).map([&](double found_number) {
        policy.parameter = found_number;
      });
    }
    return fail(fmt::format("{} takes no argument '{}{}{}'", spelling.name, key,
                            key.empty() ? "" : "=", value),
                fmt::format("write {}", example(spelling)));
  }

  static std::string_view example(const Spelling& spelling) {
    switch (spelling.brackets) {
      case Brackets::none:
        return spelling.name;
      case Brackets::count:
        return "ulp(4)";
      case Brackets::number:
        return spelling.name;
      case Brackets::tolerance:
        return "close, close(rtol=1e-3, atol=1e-5) or close(k=1024)";
      case Brackets::tensor:
        return "index_equivalent(x) or index_equivalent(x, dim=1)";
      case Brackets::policies:
        return "any_of(close, ulp(4))";
    }
    return spelling.name;
  }

  static Result<double> number(const Spelling& spelling, std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
        value < 0) {
      return fail(fmt::format("{} wants a finite number that is not negative, found '{}'",
                              spelling.name, text));
    }
    return value;
  }

  static Result<void> integer(const Spelling& spelling, std::string_view text,
                              std::optional<std::int64_t>& into) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) {
      return fail(fmt::format("{} wants an integer, found '{}'", spelling.name, text));
    }
    into = value;
    return {};
  }

  static Result<void> check(const Spelling& spelling, const Policy& policy) {
    const auto needs = [&](std::string_view what) {
      return fail(fmt::format("{} needs {}", spelling.name, what),
                  fmt::format("write {}", example(spelling)));
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
    if (spelling.kind == Kind::statistical && !(policy.parameter > 0 && policy.parameter < 1)) {
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

std::string_view name_of(Promise promise) {
  switch (promise) {
    case Promise::bits:
      return "bits";
    case Promise::casts:
      return "casts";
    case Promise::values:
      return "values";
  }
  return "values";
}

std::optional<Promise> find_promise(std::string_view name) {
  for (const Promise promise : {Promise::bits, Promise::casts, Promise::values}) {
    if (name_of(promise) == name) return promise;
  }
  return std::nullopt;
}

Result<Policy> parse_policy(std::string_view text) { return Parser(text).whole(); }

std::string to_string(const Policy& policy) {
  const Spelling& spelling = spelling_of(policy.kind);
  std::vector<std::string> parts;
  switch (spelling.brackets) {
    case Brackets::none:
      break;
    case Brackets::count:
    case Brackets::number:
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

Policy default_policy(Promise promise, const Dtype& dtype) {
  Policy policy;
  if (!dtype.is_floating() && !dtype.is_complex()) {
    policy.kind = Kind::exact;
    return policy;
  }
  if (promise == Promise::bits) return policy;
  Policy close, gold;
  close.kind = Kind::close;
  gold.kind = promise == Promise::casts ? Kind::stepwise : Kind::no_worse;
  gold.parameter = 1;
  policy.kind = Kind::any_of;
  policy.children = {std::move(close), std::move(gold)};
  return policy;
}

GoldNeeds gold_needs(const Policy& policy) {
  GoldNeeds needs;
  switch (policy.kind) {
    case Kind::no_worse:
    case Kind::same_upstream:
      needs.fp64 = true;
      break;
    case Kind::same:
      needs.fp64 = needs.stepwise = true;
      break;
    case Kind::stepwise:
      needs.stepwise = true;
      break;
    default:
      break;
  }
  for (const Policy& child : policy.children) {
    const GoldNeeds more = gold_needs(child);
    needs.fp64 |= more.fp64;
    needs.stepwise |= more.stepwise;
  }
  return needs;
}

}  // namespace lockstep
