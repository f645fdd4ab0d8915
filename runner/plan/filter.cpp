#include "plan/filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/reader.h"
#include "base/text.h"
#include "cases/registry.h"
#include "verdict/status.h"

namespace lockstep {
namespace {

const std::vector<std::string> kKinds = {"id", "tag", "op", "dtype", "path", "device", "status"};

/// Statuses are a closed list, so a misspelled one is an error rather than a run of nothing.
Result<void> check_status(const std::string& pattern) {
  std::vector<std::string> words = {"new", "known", "fixed", "waived", "failing", "departing"};
  for (const StatusInfo& each : all_statuses()) words.emplace_back(each.name);
  if (std::any_of(words.begin(), words.end(),
                  [&](const std::string& word) { return glob_match(pattern, word); }))
    return {};
  return fail(
      fmt::format("found `status:{}`, expected a status, a standing, `failing` or `departing`",
                  pattern),
      suggestion(pattern, words));
}

bool any_matches(const std::string& pattern, const std::vector<std::string>* values) {
  return values != nullptr && std::any_of(values->begin(), values->end(), [&](const auto& value) {
           return glob_match(pattern, value);
         });
}

}  // namespace

Result<Filter> Filter::parse(const std::vector<std::string>& terms) {
  Filter filter;
  for (const std::string& text : terms) {
    Term term{"id", text, false};
    if (term.pattern.starts_with('!')) {
      term.excludes = true;
      term.pattern.erase(0, 1);
    }
    // An id has no colon before its matrix.
    const std::size_t colon = term.pattern.find(':');
    if (colon != std::string::npos && colon < term.pattern.find_first_of("[@/")) {
      term.kind = term.pattern.substr(0, colon);
      term.pattern.erase(0, colon + 1);
      if (!contains(kKinds, term.kind)) {
        return fail(fmt::format("found the unknown filter `{}:`", term.kind),
                    suggestion(term.kind, kKinds));
      }
    }
    if (term.pattern.empty())
      return fail(fmt::format("found the filter `{}`, expected something to look for", text));
    if (term.kind == "status") {
      if (auto known = check_status(term.pattern); !known) return tl::unexpected(known.error());
    }
    filter.terms_.push_back(std::move(term));
  }
  return filter;
}

bool Filter::holds(const Term& term, const FilterSubject& subject) {
  if (term.kind == "id") {
    if (glob_match(term.pattern, subject.instance) || glob_match(term.pattern, subject.case_id))
      return true;
    const std::size_t at =
        term.pattern.find('@');  // a verdict's id: the path comes after the device
    const std::size_t slash = at == std::string::npos ? at : term.pattern.find('/', at);
    if (slash == std::string::npos) return false;
    return glob_match(std::string_view(term.pattern).substr(0, slash), subject.instance) &&
           (subject.path.empty() ||
            glob_match(std::string_view(term.pattern).substr(slash + 1), subject.path));
  }
  if (term.kind == "path") return subject.path.empty() || glob_match(term.pattern, subject.path);
  if (term.kind == "device") return device_matches(term.pattern, subject.device);
  if (term.kind == "tag") return any_matches(term.pattern, subject.tags);
  if (term.kind == "dtype")
    return subject.dtypes == nullptr || any_matches(term.pattern, subject.dtypes);
  if (term.kind == "status")
    return subject.path.empty() || any_matches(term.pattern, subject.statuses);
  return subject.operators == nullptr ||
         std::any_of(subject.operators->begin(), subject.operators->end(),
                     [&](const auto& name) { return operator_matches(term.pattern, name); });
}

Filter Filter::within(Filter level) const {
  Filter result = *this;
  result.level_ = std::make_shared<const Filter>(std::move(level));
  return result;
}

bool Filter::selects(const FilterSubject& subject) const {
  if (level_ != nullptr && !level_->selects(subject)) return false;
  for (const std::string& kind : kKinds) {
    bool asked = false, met = false;
    for (const Term& term : terms_) {
      if (term.kind != kind || term.excludes) continue;
      asked = true;
      met = met || holds(term, subject);
    }
    if (asked && !met) return false;
  }
  return std::none_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    // What is not known yet excludes nothing.
    if (((term.kind == "path" || term.kind == "status") && subject.path.empty()) ||
        (term.kind == "op" && subject.operators == nullptr) ||
        (term.kind == "dtype" && subject.dtypes == nullptr))
      return false;
    if (term.kind == "id" && subject.path.empty() &&
        term.pattern.find('/', std::min(term.pattern.find('@'), term.pattern.size())) !=
            std::string::npos)
      return false;
    return term.excludes && holds(term, subject);
  });
}

bool Filter::mentions(std::string_view kind) const {
  if (level_ != nullptr && level_->mentions(kind)) return true;
  return std::any_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (kind == "path" && term.kind == "id" && !term.excludes) {  // a verdict's id names its path
      const std::size_t at = term.pattern.find('@');
      return at != std::string::npos && term.pattern.find('/', at) != std::string::npos;
    }
    return term.kind == kind;
  });
}

bool Filter::asks_for(std::string_view kind) const {
  if (level_ != nullptr && level_->asks_for(kind)) return true;
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return !term.excludes && term.kind == kind; });
}

std::vector<std::string> Filter::patterns(std::string_view kind) const {
  std::vector<std::string> result;
  for (const Term& term : terms_) {
    if (term.kind == kind && !term.excludes) result.push_back(term.pattern);
  }
  return result;
}

}  // namespace lockstep
