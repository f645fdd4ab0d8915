#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/diagnostic.h"
#include "explain/trials.h"
#include "shrink/journal.h"
#include "verdict/fault.h"

namespace lockstep {

/// What is to be made smaller.
struct ShrinkRequest {
  std::string id;  ///< of the verdict
  std::shared_ptr<const Case> declared;
  Path path;
  const Registry* registry = nullptr;
  const PythonOperators* python = nullptr;
  /// Keep the operators that `find_operators` accuses, where it accuses any: what diverges in the
  /// same way for another reason is not taken then.
  bool same_operators = false;
  /// Take what diverges with the same status and class, whatever the policy and the magnitude.
  bool allow_drift = false;
  std::string torch;  ///< version and all that tells two machines apart, for the journal
  /// Told of each smaller case that diverges as the first one did; may be null.
  std::function<void(const Case&)> on_smaller;
};

/// What became of it.
struct Shrunk {
  Case declared;          ///< the smallest case that diverges in the same way
  Verdict first;          ///< of the case as it was
  Verdict verdict;        ///< of the smallest one
  bool diverges = false;  ///< the case as it was does; else there is nothing to shrink
  bool complete = false;  ///< nothing smaller was left to try; else time ran out
  std::size_t candidates = 0;
  std::size_t remembered = 0;  ///< of which the journal says what they are
};

/// What `check` says of the text of a case, beside the case's files of values; without a registry
/// not whether its operators take what they are given.  `python` has those of modules.
Diagnostics faults_of(const Case& declared, const std::string& text, const Registry* registry,
                      const PythonOperators* python);

/// How many steps a program has, those in blocks counted.
std::size_t step_count(const Program& program);

/// The number of elements of all inputs of a case.
std::int64_t element_count(const Case& declared);

/// Makes a case smaller that still has the same divergence (verdict/fault.h) on the same path,
/// under its policy, with its threads, calls and numbers, as far as they are needed. It begins with
/// the operators that `find_operators` names, and goes through candidates.h until nothing smaller
/// diverges. Of several candidates the first one counts, whichever is executed first, so that the
/// same request gives the same case.
Shrunk shrink(const ShrinkRequest& request, Trials& trials, Journal& journal);

}  // namespace lockstep
