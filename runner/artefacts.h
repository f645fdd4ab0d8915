#pragma once

#include <filesystem>

#include "base/result.h"
#include "run/record.h"

namespace lockstep {

/// Writes every report of a run into a directory: run.json, junit.xml, report.html, summary.md.
Result<void> write_reports(const RunRecord& record, const std::filesystem::path& directory,
                           bool strict);

}  // namespace lockstep
