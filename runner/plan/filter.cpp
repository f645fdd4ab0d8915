#include "plan/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/reader.h"
#include "base/text.h"
#include "cases/registry.h"
#include "paths/globs.h"
#include "plan/filter_parser.h"

namespace lockstep {
namespace {

constexpr std::array<FilterKind, 16> kKinds = {{
    {"id", FilterSource::suite, "'bugs/*'   bugs/185337*@cpu/inductor",
     "cases, instances and verdicts"},
    {"word", FilterSource::suite, "softmax", "ids that contain it; several narrow down"},
    {"tag", FilterSource::suite, "tag:precision-cast", "of the case"},
    {"op", FilterSource::decoded, "op:add   op:sum.dim_IntList", "operators of the program"},
    {"dtype", FilterSource::decoded, "dtype:float16", "of the inputs"},
    {"path", FilterSource::path, "path:inductor   'path:inductor*'", "as --path"},
    {"device", FilterSource::suite, "device:cpu   'device:cuda*'", "as --device"},
    {"status", FilterSource::log, "status:failing   status:value_diverges",
     "a status, a standing, failing or diverging"},
    {"is", FilterSource::log, "is:failing   is:known   is:weak",
     "what it does to the run, and its marks"},
    {"standing", FilterSource::log, "standing:fixed", "against the expectations"},
    {"grade", FilterSource::log, "grade:close", "the strictest policy that holds"},
    {"stage", FilterSource::log, "stage:compile", "the last one reached"},
    {"nearer", FilterSource::log, "nearer:eager", "who is nearer to the gold"},
    {"because", FilterSource::log, "because:bug", "of the expectation"},
    {"fingerprint", FilterSource::log, "'fingerprint:softshrink:*'",
     "what went wrong, by its name"},
    {"reason", FilterSource::log, "reason:NaN", "a part of the reason"},
}};

const FilterKind* find_kind(std::string_view name) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const FilterKind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

bool any_matches(const std::string& pattern, const std::vector<std::string>* values) {
  return values != nullptr && std::any_of(values->begin(), values->end(), [&](const auto& value) {
           return glob_match(pattern, value);
         });
}

/// Whether `text` contains `word`, in capitals or not.
bool contains_word(std::string_view text, std::string_view word) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

/// Where the path begins in a verdict's id, after the slash; npos in others.
std::size_t path_in(const std::string& id) {
  const std::size_t at = id.find('@');
  const std::size_t slash = at == std::string::npos ? at : id.find('/', at);
  return slash == std::string::npos ? slash : slash + 1;
}

/// Whether an instance's id begins as what a term names.  A level has hundreds of terms, and nearly
/// all are out of the question by their first letters.
bool begins_alike(std::string_view pattern, std::string_view instance) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*' || pattern[i] == '?' || pattern[i] == '@') return true;
    if (i == instance.size() || pattern[i] != instance[i]) return false;
  }
  return true;
}

}  // namespace

std::span<const FilterKind> filter_kinds() { return kKinds; }

std::string filter_help() {
  std::string text =
      "Selecting (SELECT): any of the terms of one kind must hold, and all kinds; !TERM "
      "excludes.\n"
      "`and`, `or`, `not` and parentheses join terms, in one quoted SELECT or as words:\n"
      "'status:failing and (op:add or op:mul)'.  Terms side by side bind closer than `and`, and\n"
      "`and` closer than `or`.  A term that matches nothing is an error.\n";
  std::string_view heading;
  for (const FilterKind& kind : kKinds) {
    if (kind.source == FilterSource::log && heading.empty()) {
      heading = "Of the log that --from names, or the latest:\n";
      text += heading;
    }
    text += fmt::format("  {:<11} {:<38}  {}\n", kind.name, kind.examples, kind.meaning);
  }
  return text +
         "--path and --device take several names or globs. The first word that names none of them "
         "is a SELECT.\n";
}

Result<Filter> Filter::parse(const std::vector<std::string>& terms,
                             const std::vector<std::string>& more) {
  std::vector<Error> errors;
  Filter filter = parse(terms, more, errors);
  if (!errors.empty()) return tl::unexpected(errors.front());
  return filter;
}

Filter Filter::parse(const std::vector<std::string>& terms, const std::vector<std::string>& more,
                     std::vector<Error>& errors) {
  Filter filter;
  FilterParser parser(errors);
  if (!terms.empty()) filter.root_ = parser.parse(terms);
  if (more.empty()) return filter;
  if (filter.root_.kind != Node::Kind::list)
    filter.root_ = {Node::Kind::list, {}, {std::move(filter.root_)}};
  for (Node& node : parser.parse(more).children) filter.root_.children.push_back(std::move(node));
  return filter;
}

Filter Filter::within(Filter level) const {
  Filter result = *this;
  result.level_ = std::make_shared<const Filter>(std::move(level));
  return result;
}

Filter Filter::only(std::set<std::string> instances) const {
  Filter result = *this;
  result.only_ = std::make_shared<const std::set<std::string>>(std::move(instances));
  return result;
}

Filter Filter::on_paths(const std::vector<std::string>& paths) const {
  Filter result = *this;
  edit(result.root_, false, [](Term& term, bool excluded) {
    if (excluded) return;
    if (term.kind == "path") term.pattern = "*";
    if (const std::size_t path = path_in(term.pattern);
        term.kind == "id" && path != std::string::npos)
      term.pattern.erase(path - 1);
  });
  Node list;
  list.children.push_back(std::move(result.root_));
  for (const std::string& path : paths)
    list.children.push_back({Node::Kind::term, {"path", path, false}, {}});
  result.root_ = std::move(list);
  return result;
}

void Filter::search_words(const std::function<bool(const std::string&)>& is_case) {
  edit(root_, false, [&](Term& term, bool) {
    const bool bare =
        term.kind == "id" && term.pattern.find_first_of("*?/:@[") == std::string::npos;
    if (bare && !is_case(term.pattern)) term.kind = "word";
  });
}

bool Filter::names_path(const Term& term) {
  // A verdict's id names its path.
  return term.kind == "path" || (term.kind == "id" && path_in(term.pattern) != std::string::npos);
}

void Filter::each_term(const Node& node, bool excluded, const Visit& visit) {
  if (node.kind == Node::Kind::term) return visit(node.term, excluded != node.term.excludes);
  for (const Node& child : node.children)
    each_term(child, excluded != (node.kind == Node::Kind::negation), visit);
}

void Filter::edit(Node& node, bool excluded, const std::function<void(Term&, bool)>& change) {
  if (node.kind == Node::Kind::term) return change(node.term, excluded != node.term.excludes);
  for (Node& child : node.children)
    edit(child, excluded != (node.kind == Node::Kind::negation), change);
}

Filter::Holds Filter::holds(const Term& term, const FilterSubject& subject, Holds undecoded) {
  const auto known = [](bool value) { return value ? Holds::yes : Holds::no; };
  if (term.kind == "id") {
    if (!begins_alike(term.pattern, subject.instance)) return Holds::no;
    // The device may be left out after a matrix.
    const std::string_view anywhere = subject.instance.substr(0, subject.instance.rfind('@'));
    if (glob_match(term.pattern, subject.instance) || glob_match(term.pattern, subject.case_id) ||
        (term.pattern.find('[') != std::string::npos && glob_match(term.pattern, anywhere)))
      return Holds::yes;
    const std::size_t path = path_in(term.pattern);
    if (path == std::string::npos ||
        !glob_match(std::string_view(term.pattern).substr(0, path - 1), subject.instance))
      return Holds::no;
    if (subject.path.empty()) return Holds::unknown;
    return known(glob_match(std::string_view(term.pattern).substr(path), subject.path));
  }
  if (term.kind == "word") return known(contains_word(subject.instance, term.pattern));
  if (term.kind == "device") return known(device_matches(term.pattern, subject.device));
  if (term.kind == "tag") return known(any_matches(term.pattern, subject.tags));
  const FilterSource source = find_kind(term.kind)->source;
  if (source == FilterSource::path || source == FilterSource::log) {
    if (subject.path.empty()) return Holds::unknown;
    if (source == FilterSource::path) return known(glob_match(term.pattern, subject.path));
    if (subject.said == nullptr) return Holds::no;
    const auto words = subject.said->find(term.kind);
    if (words == subject.said->end()) return Holds::no;
    if (term.kind == "reason" && !has_wildcard(term.pattern))
      return known(
          std::any_of(words->second.begin(), words->second.end(),
                      [&](const std::string& word) { return contains_word(word, term.pattern); }));
    return known(any_matches(term.pattern, &words->second));
  }
  if (term.kind == "dtype")
    return subject.dtypes == nullptr ? undecoded : known(any_matches(term.pattern, subject.dtypes));
  if (subject.operators == nullptr) return undecoded;
  return known(std::any_of(subject.operators->begin(), subject.operators->end(),
                           [&](const auto& name) { return operator_matches(term.pattern, name); }));
}

/// Kleene's logic: what is not known yet neither selects nor excludes.
Filter::Holds Filter::holds(const Node& node, const FilterSubject& subject, Holds undecoded) {
  const auto opposite = [](Holds value) {
    return static_cast<Holds>(static_cast<int>(Holds::yes) - static_cast<int>(value));
  };
  if (node.kind == Node::Kind::term) {
    if (!node.term.excludes) return holds(node.term, subject, undecoded);
    return opposite(holds(node.term, subject, opposite(undecoded)));
  }
  if (node.kind == Node::Kind::negation)
    return opposite(holds(node.children.front(), subject, opposite(undecoded)));
  Holds all = Holds::yes, any = Holds::no;
  std::array<std::optional<Holds>, kKinds.size()> alternatives;  // of a list, by kind
  for (const Node& child : node.children) {
    const bool is_alternative = node.kind == Node::Kind::list && child.kind == Node::Kind::term &&
                                !child.term.excludes && child.term.kind != "word";
    if (is_alternative) {
      auto& best = alternatives[static_cast<std::size_t>(find_kind(child.term.kind) - &kKinds[0])];
      if (best != Holds::yes)
        best = std::max(best.value_or(Holds::no), holds(child, subject, undecoded));
    } else {
      const Holds found = holds(child, subject, undecoded);
      all = std::min(all, found);
      any = std::max(any, found);
      if (found == (node.kind == Node::Kind::any ? Holds::yes : Holds::no)) return found;
    }
  }
  if (node.kind == Node::Kind::any) return any;
  for (const auto& best : alternatives) all = std::min(all, best.value_or(Holds::yes));
  return all;
}

bool Filter::selects(const FilterSubject& subject, Holds undecoded) const {
  if (level_ != nullptr && !level_->selects(subject, undecoded)) return false;
  if (only_ != nullptr &&
      !only_->contains(std::string(subject.instance.substr(0, subject.instance.rfind('@')))))
    return false;
  return holds(root_, subject, undecoded) != Holds::no;
}

bool Filter::mentions(std::string_view kind) const {
  if (level_ != nullptr && level_->mentions(kind)) return true;
  bool found = false;
  each_term(root_, false, [&](const Term& term, bool excluded) {
    found = found || (kind == "path" ? !excluded && names_path(term) : term.kind == kind);
  });
  return found;
}

bool Filter::excludes_paths() const {
  bool found = level_ != nullptr && level_->excludes_paths();
  each_term(root_, false, [&](const Term& term, bool excluded) {
    found = found || (excluded && names_path(term));
  });
  return found;
}

bool Filter::mentions(FilterSource source) const {
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const FilterKind& kind) {
    return kind.source == source && mentions(kind.name);
  });
}

bool Filter::asks_for(FilterSource source) const {
  bool found = level_ != nullptr && level_->asks_for(source);
  each_term(root_, false, [&](const Term& term, bool excluded) {
    found = found || (!excluded && find_kind(term.kind)->source == source);
  });
  return found;
}

bool Filter::asks() const {
  bool found = false;
  each_term(root_, false, [&](const Term&, bool excluded) { found = found || !excluded; });
  return found;
}

bool Filter::is_plain(const Node& node) {
  return node.kind == Node::Kind::term ||
         ((node.kind == Node::Kind::list || node.kind == Node::Kind::all) &&
          std::all_of(node.children.begin(), node.children.end(),
                      [](const Node& child) { return is_plain(child); }));
}

bool Filter::is_plain() const { return is_plain(root_); }

std::vector<Filter::Term> Filter::terms() const {
  std::vector<Term> result;
  each_term(root_, false, [&](const Term& term, bool excluded) {
    result.push_back({term.kind, term.pattern, excluded});
  });
  return result;
}

std::vector<std::string> Filter::patterns(std::string_view kind) const {
  std::vector<std::string> result;
  for (Term& term : terms()) {
    if (term.kind == kind && !term.excludes) result.push_back(std::move(term.pattern));
  }
  return result;
}

}  // namespace lockstep
