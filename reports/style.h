#pragma once

#include <string>
#include <string_view>

#include "verdict/verdict.h"

namespace lockstep {

/// Looks that the console gives to text, when it is allowed to.
class Style {
 public:
  explicit Style(bool enabled) : enabled_(enabled) {}

  std::string strong(std::string_view text) const { return with("1", text); }
  std::string faint(std::string_view text) const { return with("2", text); }
  std::string bad(std::string_view text) const { return with("1;31", text); }
  std::string good(std::string_view text) const { return with("32", text); }
  std::string odd(std::string_view text) const { return with("33", text); }
  std::string command(std::string_view text) const { return with("36", text); }

  /// By what the verdict does to the run.
  std::string of(const Verdict& verdict, bool strict, std::string_view text) const {
    if (verdict.fails(strict)) return bad(text);
    if (verdict.account.standing == Standing::fixed) return good(text);
    if (verdict.account.standing != Standing::new_) return odd(text);
    return info(verdict.found.status).junit == JunitElement::pass ? good(text) : faint(text);
  }

 private:
  std::string with(std::string_view code, std::string_view text) const {
    if (!enabled_) return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
  }
  bool enabled_;
};

}  // namespace lockstep
