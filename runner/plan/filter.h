#pragma once

#include <memory>
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
      nullptr;                                       ///< null: not decoded yet, so `op:` terms hold
  const std::vector<std::string>* dtypes = nullptr;  ///< of the inputs; null: not decoded yet
  /// What an earlier log says of the verdict: its status, its standing, and `failing`; null while
  /// instances are selected.
  const std::vector<std::string>* statuses = nullptr;
};

/// The one language that selects: terms of one kind are alternatives, terms of different kinds must
/// all hold, `!term` excludes.
///
///   bugs/*  bugs/185337-half-round-trip  bugs/…[dtype=float16]@cpu/inductor  tag:casts  op:add
///   dtype:float16  path:inductor  device:cuda*  status:value_differs
///
/// An id without a wildcard means a case, an instance, or a verdict; `op:add` means every overload
/// of add.
class Filter {
 public:
  static Result<Filter> parse(const std::vector<std::string>& terms);

  /// The same filter, of what `level` selects.
  Filter within(Filter level) const;

  bool selects(const FilterSubject& subject) const;
  /// Whether any term looks at that kind ("id", "tag", "op", "dtype", "path", "device", "status").
  bool mentions(std::string_view kind) const;
  /// Whether a term that does not exclude asks for that kind.
  bool asks_for(std::string_view kind) const;
  /// The ids asked for, for "did you mean".
  std::vector<std::string> ids() const { return patterns("id"); }
  /// What is asked for of a kind, without what is excluded and without what the level says.
  std::vector<std::string> patterns(std::string_view kind) const;

 private:
  struct Term {
    std::string kind;
    std::string pattern;
    bool excludes = false;
  };
  static bool holds(const Term& term, const FilterSubject& subject);
  std::vector<Term> terms_;
  std::shared_ptr<const Filter> level_;
};

}  // namespace lockstep
