#include "certificate/draft.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace lockstep {
namespace {

/// Whether the path did without a verdict's instance, and its file does not say so.  That a
/// compiler fails is no refusal, and stays a failure.
bool is_refused(const Verdict& verdict) {
  const Status status = verdict.found.status;
  return status == Status::refused ||
         (status == Status::unsupported && verdict.found.unsupported_by == UnsupportedBy::path);
}

/// What is known of an operator by the instances that have no other.
struct OfOperator {
  std::set<std::string> refused, done;  ///< dtypes
};

/// The dtypes with which an operator is refused and never done.
std::set<std::string> refused_alone(const OfOperator& each) {
  std::set<std::string> dtypes;
  for (const std::string& dtype : each.refused) {
    if (!each.done.contains(dtype)) dtypes.insert(dtype);
  }
  return dtypes;
}

/// The dtypes of a verdict; "" where it has none.
std::set<std::string> dtypes_of(const Verdict& verdict) {
  const auto& dtypes = verdict.facts.dtypes;
  return dtypes.empty() ? std::set<std::string>{""}
                        : std::set<std::string>(dtypes.begin(), dtypes.end());
}

}  // namespace

Json draft_declarations(const RunRecord& run) {
  std::map<std::string, OfOperator> operators;
  for (const Verdict& verdict : run.verdicts) {
    if (verdict.facts.operators.size() != 1) continue;
    OfOperator& each = operators[verdict.facts.operators.front()];
    const std::set<std::string> dtypes = dtypes_of(verdict);
    if (is_refused(verdict)) each.refused.insert(dtypes.begin(), dtypes.end());
    if (info(verdict.found.status).judged() && !is_refused(verdict))
      each.done.insert(dtypes.begin(), dtypes.end());
  }
  // By the dtypes that are refused; none: all.
  std::map<std::set<std::string>, std::vector<std::string>> groups;
  for (const auto& [name, each] : operators) {
    const std::set<std::string> dtypes = refused_alone(each);
    if (each.refused.empty() || dtypes.empty()) continue;
    groups[each.done.empty() ? std::set<std::string>() : dtypes].push_back(name);
  }
  Json unsupported = Json::array();
  for (const auto& [dtypes, names] : groups) {
    Json entry = {{"operators", names}};
    if (!dtypes.empty()) entry["dtypes"] = dtypes;
    entry["reason"] = "";
    unsupported.push_back(std::move(entry));
  }
  const auto is_covered = [&](const Verdict& verdict) {
    for (const std::string& name : verdict.facts.operators) {
      const auto each = operators.find(name);
      if (each == operators.end()) continue;
      const std::set<std::string> dtypes = refused_alone(each->second);
      for (const std::string& dtype : dtypes_of(verdict)) {
        if (dtypes.contains(dtype) || (each->second.done.empty() && !dtypes.empty())) return true;
      }
    }
    return false;
  };
  std::set<std::string> classes;
  Json left = Json::array();
  for (const Verdict& verdict : run.verdicts) {
    if (!is_refused(verdict) || is_covered(verdict)) continue;
    if (verdict.found.compiled_error)
      classes.insert(verdict.found.compiled_error->class_name);
    else
      left.push_back(verdict.facts.id);
  }
  Json refuses = Json::array();
  for (const std::string& name : classes) refuses.push_back({{"error", name}, {"reason", ""}});
  return {{"unsupported", std::move(unsupported)},
          {"refuses", std::move(refuses)},
          {"left", std::move(left)}};
}

}  // namespace lockstep
