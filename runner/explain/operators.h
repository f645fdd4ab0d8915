#pragma once

#include <memory>

#include "explain/derive.h"
#include "explain/trials.h"
#include "record/explanation.h"
#include "verdict/fault.h"

namespace lockstep {

/// A case that diverges on a path, and what its verdict was made of.
struct Suspect {
  std::string name;  ///< of the trials of its parts
  std::shared_ptr<const Case> declared;
  Path path;
  const Registry* registry = nullptr;
  Fault fault;
  Verdict verdict;
  /// Ask only for who it is: of all steps the accused one alone is tried alone, and no cast is
  /// named.
  bool brief = false;
};

/// What the steps of a program were seen to compute.
struct SeenValues {
  GivenValues eager, compiled, fp64, stepwise;
};

/// Finds the guilty steps. It observes each value in the program that diverges, and compares it
/// with eager's result from the same arguments. Then it executes each step alone on eager's values,
/// and then with its neighbours. Fills `steps`, `guilty`, `how`, `observing`, `ended_by`, `cast`,
/// `amplifier` and what is `open`.
SeenValues find_operators(const Suspect& suspect, Trials& trials, Explanation& explanation);

/// The path that executes a program eagerly in C++ and compares it with itself. It gives eager's
/// results.
Path eager_path();

/// The same for steps: called from Python where some of them are what only Python has; with the
/// modules of the path on trial where one of these may be an operator of theirs.
Path eager_path_of(std::span<const FlatStep> steps, const Path& on_trial);

/// What eager did: C++ eager, or, of a program with public Python functions, the worker's own.
/// Null: nobody executed it.
std::shared_ptr<const Observation> what_eager_did(const Executed& executed);

/// The same where it returned; else null.
std::shared_ptr<const Observation> eager_of(const Executed& executed);

}  // namespace lockstep
