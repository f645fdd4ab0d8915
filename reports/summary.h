#pragma once

#include <cstddef>
#include <string>

#include "record/record.h"

namespace lockstep {

/// Bytes.  GitHub takes 65,536 characters in a comment of a pull request (and more than that in
/// $GITHUB_STEP_SUMMARY), so that a summary can be posted as it is.
constexpr std::size_t kSummaryLimit = 60'000;

/// The run in Markdown for the page of a CI job: totals, counts and percent by path, percent by
/// dtype and family of operators, what fails by fingerprint (crashes and the like first, then the
/// most verdicts; each with its operators, dtypes and one example, whose command repeats it), what
/// is known by fingerprint, what is fixed, expectations that met nothing, the environment.  Never
/// longer than `limit` bytes: what does not fit is counted.
std::string summary(const RunRecord& record, bool strict, std::size_t limit = kSummaryLimit);

/// Workflow commands that mark case files in a pull request, one for each fingerprint of what
/// fails, at its smallest example: at most ten lines, as many as GitHub takes from a step; the
/// tenth counts the rest.
std::string github_annotations(const RunRecord& record, bool strict);

}  // namespace lockstep
