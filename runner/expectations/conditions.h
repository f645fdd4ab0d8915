#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "paths/path.h"

namespace lockstep {

/// A CPU, as far as conditions ask.
struct CpuConditions {
  std::string level;                  ///< as paths/cpu_level.h spells it
  std::vector<std::string> features;  ///< see base/cpu.h
};

/// Where a run takes place, as far as conditions ask.
struct ExpectationConditions {
  std::string torch;
  std::string cpu_level;
  std::vector<std::string> cpu_features;
  std::string today;  ///< "2026-11-21"
  /// The CPU as it is to paths that have a level of their own, by name.
  std::map<std::string, CpuConditions> cpu_of_paths = {};
  /// What the machine and eager's torch say of themselves, by name.
  std::map<std::string, std::string> environment = {};
};

/// What a machine and eager's torch say of themselves, as ExpectationConditions have it; the
/// machine's word counts.  Both are objects; what is no string, number or boolean is left out.
std::map<std::string, std::string> facts_of(const Json& machine, const Json& eager);

/// The place of a run: its machine and eager's torch, from its record. `today` is the day on which
/// it began. Nothing is said of paths that have a CPU level of their own.
ExpectationConditions conditions_of(const Json& machine, const Json& eager, std::string today);

/// ExpectationConditions::cpu_of_paths: the level of each path that has one of its own, and what
/// libraries may use there of a CPU with these flags (words with blanks between them).
std::map<std::string, CpuConditions> cpu_conditions_of(std::span<const Path> paths,
                                                       std::string_view cpu_flags);

}  // namespace lockstep
