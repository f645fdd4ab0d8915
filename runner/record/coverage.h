#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cases/registry.h"
#include "record/record.h"

namespace lockstep {

/// An overload of the registry, and what a run executed of it and judged.
struct CoveredOverload {
  std::string name;  ///< "aten::sum.dim_IntList"
  bool core = false;
  /// Why it is none of the functional ones that a rule or a list can call; empty: it is one.
  std::string apart;
  /// Path → verdicts that judged it.
  std::map<std::string, std::size_t> judged;
  /// What these executed: dtypes and layouts of operands, "dim=[1]"; a few instances.
  std::set<std::string> dtypes, layouts, arguments;
  std::vector<std::string> instances;
  /// Of verdicts that name it and judged nothing of it: how many, by what became of them.
  std::map<std::string, std::size_t> not_judged;

  /// Why it was not judged, in a line; of one that was, empty.
  std::string why_not() const;
};

/// Which overloads of a torch a run executed and judged: not what its cases name, but what eager
/// says that it called (Verdict::uses) in verdicts that compared the path with it
/// (StatusInfo::judged, without processes that died), where the path's own code executed any of it.
class Coverage {
 public:
  explicit Coverage(const Registry& registry);

  void add(const Verdict& verdict);

  /// All of aten, by name.
  const std::map<std::string, CoveredOverload>& overloads() const { return overloads_; }
  /// core and functional; on one path, or, without one, on any.
  std::vector<CoverageCount> counts(const std::string& path = {}) const;
  /// The paths that judged anything, by name.
  std::set<std::string> paths() const;

 private:
  std::map<std::string, CoveredOverload> overloads_;
};

Coverage coverage_of(const RunRecord& record, const Registry& registry);

/// "187 of 193 core overloads and 940 of 975 functional ones"; empty without any.
std::string coverage_line(const std::vector<CoverageCount>& counts);

/// A table by path, then what of core was not judged and, with `all`, of the others, by reason.
std::string coverage_text(const Coverage& coverage, bool all);
nlohmann::ordered_json to_json(const Coverage& coverage);

}  // namespace lockstep
