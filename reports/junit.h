#pragma once

#include <cstddef>
#include <string>

#include "record/record.h"
#include "reports/rendered.h"

namespace lockstep {

/// The run as JUnit XML, which surefire's schema and that of Jenkins' xUnit plugin accept, and
/// which GitLab, Buildkite, Azure and GitHub's actions read: a testsuite for each path, a class for
/// each case, a testcase for each verdict. A testcase has a failure, an error, a skip or nothing,
/// facts as `[[PROPERTY|name=value]]`, and saved tensors as `[[ATTACHMENT|file]]`. What is `known`
/// is skipped
/// with its reason; what is `fixed` passes with a note, and is a failure with `strict`.  A run with
/// fewer verdicts than it planned has one more testcase that is an error, so that half a run is
/// never green.  Never longer than `limit` bytes: of a larger run each verdict says less
/// (rendered.h), and at last what passes is left out and counted in the property
/// `lockstep.left_out`.
std::string junit(const RunRecord& record, bool strict, std::size_t limit = kReportLimit);

}  // namespace lockstep
