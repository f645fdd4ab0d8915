#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cases/suite.h"
#include "plan/filter.h"
#include "plan/names.h"

namespace lockstep {

/// Threads of an execution where nobody says how many: code that is generated for one thread has no
/// parallel region, and so none of the faults that live there.
constexpr int kThreads = 2;

/// What `--level` takes.
struct Level {
  std::vector<std::string> terms;  ///< of the filter
  /// Of a frozen level: its instances by id, without the device, with the digest of what each is
  /// (cases/content.h).  Empty: all that the terms take, whatever cases come later.
  std::map<std::string, std::string> instances;
  /// Likewise the fill rules that there were, with the digest of numbers that each makes.
  std::map<std::string, std::string> fills = {};
  /// Of each execution, where the run, the case and the path say nothing. A frozen level that does
  /// not say it has one, as when the first ones were frozen.
  int threads = kThreads;
  /// How often each item is executed on its path, where the run does not say: what a race spoils is
  /// not spoilt each time.
  int repeat = 1;

  /// What it selects.
  Filter filter() const;
};

/// A level file; what is wrong with it or with a term is added to `diagnostics`.
Level decode_level(const JsonFile& file, Diagnostics& diagnostics);

/// Adds to the sweeps of an expanded suite what a frozen level has of operators that they do not
/// take here: these instances are unsupported where the torch lacks the operator.
void complete(std::vector<CaseFile>& suite, const Level& level);

/// Adds an error for each instance of a frozen level that the suite has not, or has with another
/// content: then it is not that level.
void check_frozen(const JsonFile& file, const Level& level, const std::vector<CaseFile>& suite,
                  const Registry* registry, Diagnostics& diagnostics);

/// The level file that takes these instances, ids with or without a device, for ever, with the
/// threads and the repetitions of `like`; `terms` are what the level says of paths.
std::string frozen_level(const std::vector<std::string>& ids, const std::string& title,
                         const Level& like, const std::vector<std::string>& terms,
                         const std::vector<CaseFile>& suite, const Registry* registry);

/// Adds an error for each term of a level that names a case, an instance, a tag, a path or a device
/// that there is not.  Of a sweep's instances only the case is looked at: which operators it has,
/// each torch decides.
void check_level(const JsonFile& file, const std::vector<CaseFile>& suite, const ValidNames& names,
                 Diagnostics& diagnostics);

}  // namespace lockstep
