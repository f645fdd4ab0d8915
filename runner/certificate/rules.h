#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/json.h"

namespace lockstep {

/// How much of a level must be judged; what a path declares not to support is not. Percent of the
/// verdicts that could be judged. What torch, the case or eager lacks does not count.
struct Floor {
  std::vector<std::string> levels;        ///< globs of their names
  double all = 0;                         ///< of the level
  double each = 0;                        ///< of each class of operators (reports/families.h)
  std::map<std::string, double> classes;  ///< of those for which it is another one
};

/// The greatest tolerance that a path may declare for some operators and a dtype.
struct ToleranceBound {
  std::vector<std::string> operators;  ///< globs of names, as in declarations
  std::string dtype;
  double rtol = 0, atol = 0;
  std::string source;  ///< where these numbers come from
};

/// What a certificate demands: `expected/certification.json`, data of the suite.
struct CertificationRules {
  int times = 3;        ///< so often a random part of a level is executed
  double percent = 10;  ///< that part
  std::vector<Floor> floors;
  std::vector<ToleranceBound> tolerances;

  /// The floor of a level: the first whose globs take it; null: none does.
  const Floor* floor_of(const std::string& level) const;
};

/// Reads the rules; what is wrong is added to `diagnostics`.
CertificationRules decode_rules(const JsonFile& file, Diagnostics& diagnostics);

}  // namespace lockstep
