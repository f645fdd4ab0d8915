#pragma once

#include <cstddef>
#include <string>

#include "record/record.h"
#include "reports/rendered.h"

namespace lockstep {

/// The run in the Common Test Report Format (ctrf.io), version 1.0.0: a test for each verdict, with
/// the same words, facts and attachments as in JUnit (junit.h).  What JUnit calls failure or error
/// is `failed`; `rawStatus` has the status.  A run that failed as a whole has one more failed test.
/// Never longer than `limit` bytes, in the way of junit().
std::string ctrf(const RunRecord& record, bool strict, std::size_t limit = kReportLimit);

}  // namespace lockstep
