#pragma once

#include <string>
#include <string_view>

#include "record/record.h"

namespace lockstep {

/// The run of testdata/sample.jsonl: many statuses and every standing, as a run could have them.
RunRecord sample_run();

/// A small run in which every string tries to break out of the document that holds it.
RunRecord hostile_run();

/// A run of `count` verdicts on three paths.
RunRecord large_run(std::size_t count);

/// Compares with testdata/NAME; with LOCKSTEP_RENEW=1 writes it anew, which CI may not.
void expect_golden(std::string_view name, const std::string& text);

}  // namespace lockstep
