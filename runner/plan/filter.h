#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What an earlier log says of a verdict, by the kind of the term that asks: "status",
/// "fingerprint", …
using LogWords = std::map<std::string, std::vector<std::string>, std::less<>>;

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
  /// Null while instances are selected, and for a verdict that the log does not have.
  const LogWords* said = nullptr;
};

/// Where a kind of term finds what it asks for.
enum class FilterSource {
  suite,    ///< known without decoding a case
  decoded,  ///< a decoded case tells
  path,
  log,  ///< the log of an earlier run tells
};

/// A kind of term.  The table in filter.cpp is its only home.
struct FilterKind {
  std::string_view name;
  FilterSource source;
  std::string_view examples;
  std::string_view meaning;
};

std::span<const FilterKind> filter_kinds();

/// What people read of the language, a line each: its rules and the table of kinds.
std::string filter_help();

/// The one language that selects: terms of one kind are alternatives, terms of different kinds must
/// all hold, `!term` excludes.
///
///   bugs/*  bugs/185337-half-round-trip  bugs/…[dtype=float16]@cpu/inductor  tag:casts  op:add
///   dtype:float16  path:inductor  device:cuda*  status:value_diverges
///   status:failing and (op:add or not tag:casts)
///
/// An id without a wildcard means a case, an instance (its device may be left out), or a verdict;
/// `op:add` means every overload of add. `not` binds closest, then terms side by side, then `and`,
/// then `or`.
class Filter {
 public:
  struct Term {
    std::string kind;
    std::string pattern;
    bool excludes = false;
  };

  /// Terms, and the words of expressions.  A text with blanks that has `and` or `or` stands as in
  /// parentheses; all of `more` must hold besides, side by side with plain terms.  The first fault
  /// is the error.
  static Result<Filter> parse(const std::vector<std::string>& terms,
                              const std::vector<std::string>& more = {});
  /// The same with all its faults; the filter is to be used only if there are none.
  static Filter parse(const std::vector<std::string>& terms, const std::vector<std::string>& more,
                      std::vector<Error>& errors);

  /// The same filter, among what `level` selects.
  Filter within(Filter level) const;
  /// The same filter, of these instances (ids without a device).
  Filter only(std::set<std::string> instances) const;
  /// The same filter on these paths, whichever it asks for itself.
  Filter on_paths(const std::vector<std::string>& paths) const;
  /// Makes bare words (no wildcard and none of `/:@[`) that are no case's id mean every id that
  /// contains them, all of them together.
  void search_words(const std::function<bool(const std::string&)>& is_case);

  bool selects(const FilterSubject& subject) const { return selects(subject, Holds::unknown); }
  /// Whether it does whatever decoding the case will tell: then nobody need decode it.
  bool selects_anyway(const FilterSubject& subject) const { return selects(subject, Holds::no); }
  /// Whether any term is of that kind or looks there; of paths, whether one asks for some: what
  /// excludes paths leaves out of the default ones.
  bool mentions(std::string_view kind) const;
  bool mentions(FilterSource source) const;
  /// Whether anything keeps instances from single paths.
  bool excludes_paths() const;
  /// Whether a term that does not exclude looks there.
  bool asks_for(FilterSource source) const;
  /// Whether anything is asked for, rather than only excluded.
  bool asks() const;
  /// True for a plain conjunction: it has neither `or` nor `not`.
  bool is_plain() const;
  /// All terms but those of the level.
  std::vector<Term> terms() const;
  /// The ids asked for, for "did you mean".
  std::vector<std::string> ids() const { return patterns("id"); }
  /// The patterns of a kind, without excluded ones and without those of the level.
  std::vector<std::string> patterns(std::string_view kind) const;

 private:
  friend class FilterParser;
  struct Node {
    enum class Kind { term, negation, list, all, any };
    Kind kind = Kind::list;
    Term term = {};
    std::vector<Node> children = {};
  };
  enum class Holds { no, unknown, yes };
  using Visit = std::function<void(const Term&, bool excluded)>;
  static void each_term(const Node& node, bool excluded, const Visit& visit);
  static void edit(Node& node, bool excluded, const std::function<void(Term&, bool)>& change);
  static bool is_plain(const Node& node);
  static bool names_path(const Term& term);
  /// `undecoded`: what is taken for the answer of a term that only a decoded case has; where the
  /// term is excluded, the opposite of it.
  static Holds holds(const Term& term, const FilterSubject& subject, Holds undecoded);
  static Holds holds(const Node& node, const FilterSubject& subject, Holds undecoded);
  bool selects(const FilterSubject& subject, Holds undecoded) const;

  Node root_;
  std::shared_ptr<const Filter> level_;
  std::shared_ptr<const std::set<std::string>> only_;
};

}  // namespace lockstep
