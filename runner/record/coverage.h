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
  /// By path, how many verdicts name it and did not judge it, by reason.
  std::map<std::string, std::map<std::string, std::size_t>> not_judged;

  /// Whether a verdict of the path judged it; without a path, of any.
  bool is_judged(const std::string& path = {}) const;
  /// Why none did, in a few words: what became of most.
  std::string why_not(const std::string& path = {}) const;
};

/// What torch tests itself: the names of its OpInfo database, and how a case may call each:
/// operators
/// ("aten::sin") and public functions ("torch.nn.functional.softsign").
using OpInfoNames = std::map<std::string, std::vector<std::string>>;

/// Which overloads of a torch a run executed and judged. It counts what eager says that it called
/// (Verdict::uses), not what cases name. It counts judged verdicts (StatusInfo::judged) of
/// processes that did not die, if the path's own code executed any of the program.
class Coverage {
 public:
  explicit Coverage(const Registry& registry);

  void add(const Verdict& verdict);

  /// All of aten, by name.
  const std::map<std::string, CoveredOverload>& overloads() const { return overloads_; }
  /// core and functional, on any path and then on each that was run.  A gap has the names of its
  /// overloads where no more than 64 of the set are lacking.
  std::vector<CoverageCount> counts() const;
  /// Of a name of the database one overload is enough.  The gap has all names.
  CoverageCount count(const OpInfoNames& names) const;

 private:
  CoverageCount count(bool core, const std::string& path) const;

  std::set<std::string> paths_;
  std::set<std::string> functions_;  ///< public ones, whose results were judged
  std::map<std::string, CoveredOverload> overloads_;
};

/// "187 of 193 core overloads (96.9 %) and 940 of 975 functional ones (96.4 %)"; empty if
/// no level was selected.
std::string coverage_line(const RunRecord& record);

/// A table by path, then what of core was not judged and, with `all`, of the others, by reason.
std::string coverage_text(const Coverage& coverage, bool all);
/// The same of the database of torch's own tests, stated apart.
std::string coverage_text(const CoverageCount& opinfo, bool all);
nlohmann::ordered_json to_json(const Coverage& coverage);

}  // namespace lockstep
