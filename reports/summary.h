#pragma once

#include <cstddef>
#include <string>

#include "record/record.h"

namespace lockstep {

/// GitHub shows no more than this of $GITHUB_STEP_SUMMARY, and nothing at all of a longer one.
constexpr std::size_t kSummaryLimit = 1024 * 1024;

/// The run in Markdown for the page of a CI job: totals, counts by path, what fails (worst first,
/// each with its whole story folded), what is fixed, expectations that met nothing, the
/// environment.  Never longer than `limit` bytes: what does not fit is counted.
std::string summary(const RunRecord& record, bool strict, std::size_t limit = kSummaryLimit);

/// Workflow commands that mark case files in a pull request, one for each cause of what fails, at
/// its smallest example: at most ten lines, as many as GitHub takes from a step; the tenth counts
/// the rest.
std::string github_annotations(const RunRecord& record, bool strict);

}  // namespace lockstep
