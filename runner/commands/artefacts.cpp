#include "commands/artefacts.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/parallel.h"
#include "commands/job_log.h"
#include "reports/summary.h"
#include "reports/terminal.h"
#include "requests/report_formats.h"

namespace lockstep {
namespace fs = std::filesystem;

Result<void> write_reports(const RunRecord& record, const fs::path& directory, bool strict) {
  std::error_code error;
  fs::create_directories(directory, error);  // a failure shows at the first file
  std::vector<std::pair<const ReportFormat*, fs::path>> files;
  for (const ReportFormat& format : report_formats()) {
    if (!format.has_content(record)) continue;
    for (const std::string& name : format.files) files.emplace_back(&format, directory / name);
  }
  // The page takes longest: begun first, it is there with the others.
  std::stable_partition(files.begin(), files.end(),
                        [](const auto& each) { return each.second.extension() == ".html"; });
  std::vector<Result<void>> written(files.size());
  in_parallel(files.size(), 1, [&](std::size_t i) {
    const auto& [format, file] = files[i];
    written[i] = write_file(file, format->make(record, strict, file));
  });
  for (const Result<void>& each : written) {
    if (!each) return each;
  }
  return {};
}

PeopleOutput people_output(const Reporting& reporting, const std::string& color) {
  const bool to_error = writes_to_stdout(reporting);
  const Terminal terminal = real_terminal();
  return {to_error ? std::cerr : std::cout,
          Style(use_color(terminal, to_error ? terminal.err_is_terminal : terminal.out_is_terminal,
                          color_choice(color)))};
}

Result<void> write_report(const std::filesystem::path& file,
                          const std::function<std::string()>& make) {
  if (file.empty()) return {};
  if (file == "-") {
    std::cout << make();
    return {};
  }
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  return write_file(file, make());
}

void print_annotations(const RunRecord& record, const Reporting& reporting) {
  print_commands(github_annotations(record, reporting.strict));
}

Result<void> write_single_reports(const RunRecord& record, const Reporting& reporting, bool& any) {
  any = false;
  for (const ReportFormat& format : report_formats()) {
    const auto asked = reporting.files.find(format.flag);
    if (asked == reporting.files.end()) continue;
    const fs::path& file = asked->second;
    any = true;
    const std::string text = format.make(record, reporting.strict, file);
    if (file == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      continue;
    }
    std::error_code error;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
    if (auto written = write_file(file, text); !written) return written;
  }
  return {};
}

}  // namespace lockstep
