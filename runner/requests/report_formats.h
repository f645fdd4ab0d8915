#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// A format of report: its flag, its file in the directory of a run, and what writes it.  The table
/// in report_formats.cpp is the only list of them.
struct ReportFormat {
  const char* flag;  ///< "--junit"
  const char* help;
  std::vector<std::string> files;  ///< in the directory of a run
  /// Whether a run's directory gets it; what is asked for by its flag is always written.
  bool (*has_content)(const RunRecord& record);
  /// `file` is where it will be written: its name may choose the spelling.
  std::string (*make)(const RunRecord& record, bool strict, const std::filesystem::path& file);
};

/// All formats, in the order of the help.
std::span<const ReportFormat> report_formats();

}  // namespace lockstep
