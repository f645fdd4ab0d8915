#pragma once

#include <string>

#include "record/record.h"

namespace lockstep {

/// The run as JUnit XML, in the superset that Jenkins, GitLab, Buildkite, Azure and GitHub's
/// actions read (reports/junit.xsd): a testsuite for each path, a testcase for each verdict, and in
/// it one of failure, error, skipped or none.  What is `known` is skipped with its reason; what is
/// `fixed` passes with a note, and is a failure with `strict`.  A run with fewer verdicts than it
/// planned has one more testcase that is an error, so that half a run is never green.
std::string junit(const RunRecord& record, bool strict);

}  // namespace lockstep
