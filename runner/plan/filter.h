#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What a filter can look at.
struct FilterSubject {
  std::string_view case_id;   ///< "bugs/185337-half-round-trip"
  std::string_view instance;  ///< with matrix and device
  std::string_view path;      ///< empty while instances are selected
  std::string_view device;
  const std::vector<std::string>* tags = nullptr;
  const std::vector<std::string>* operators =
      nullptr;  ///< null: not decoded yet, so `op:` terms hold
  std::string_view title;
};

/// The one language that selects: terms of one kind are alternatives, terms of different kinds must
/// all hold, `!term` excludes.
///
///   bugs/*  bugs/185337-half-round-trip  bugs/…[dtype=float16]@cpu/inductor  tag:casts  op:add
///   path:inductor  device:cuda*
///
/// An id without a wildcard means a case, an instance, or a verdict; `op:add` means every overload
/// of add.
class Filter {
 public:
  static Result<Filter> parse(const std::vector<std::string>& terms);

  bool selects(const FilterSubject& subject) const;
  /// Whether any term looks at that kind ("id", "tag", "op", "path", "device").
  bool mentions(std::string_view kind) const;
  bool empty() const { return terms_.empty(); }
  /// The ids asked for, for "did you mean".
  std::vector<std::string> ids() const;

 private:
  struct Term {
    std::string kind;
    std::string pattern;
    bool excludes = false;
  };
  static bool holds(const Term& term, const FilterSubject& subject);
  std::vector<Term> terms_;
};

}  // namespace lockstep
