#include "commands/artefacts.h"

#include <cstdio>
#include <functional>
#include <iostream>
#include <vector>

#include "base/files.h"
#include "reports/accuracy.h"
#include "reports/case_table.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/summary.h"

namespace lockstep {

Result<void> write_reports(const RunRecord& record, const std::filesystem::path& directory,
                           bool strict) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);  // a failure shows at the first file
  std::vector<std::pair<const char*, std::string>> files = {
      {"run.json", run_json(record)},
      {"junit.xml", junit(record, strict)},
      {"report.html", html(record)},
      {"summary.md", summary(record, strict)}};
  if (const AccuracyTable table = accuracy_table(record); !table.rows.empty()) {
    files.push_back({"accuracy.txt", accuracy_text(table)});
    files.push_back({"accuracy.json", accuracy_json(table)});
  }
  for (const auto& [name, text] : files) {
    if (auto written = write_file(directory / name, text); !written) return written;
  }
  return {};
}

bool writes_to_stdout(const Options& options) { return !on_standard_output(options).empty(); }

void print_annotations(const RunRecord& record, const Options& options) {
  (writes_to_stdout(options) ? std::cerr : std::cout)
      << github_annotations(record, options.strict) << std::flush;
}

Result<void> write_single_reports(const RunRecord& record, const Options& options, bool& any) {
  any = false;
  const std::pair<const std::filesystem::path&, std::function<std::string()>> files[] = {
      {options.json_file, [&] { return run_json(record); }},
      {options.junit_file, [&] { return junit(record, options.strict); }},
      {options.html_file, [&] { return html(record); }},
      {options.summary_file, [&] { return summary(record, options.strict); }},
      {options.case_table_file, [&] { return case_table(record); }},
      {options.accuracy_file, [&] {
         const AccuracyTable table = accuracy_table(record);
         return options.accuracy_file.extension() == ".json" ? accuracy_json(table)
                                                             : accuracy_text(table);
       }}};
  for (const auto& [file, make] : files) {
    if (file.empty()) continue;
    any = true;
    const std::string text = make();
    if (file == "-") {
      std::fwrite(text.data(), 1, text.size(), stdout);
      continue;
    }
    std::error_code error;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
    if (auto written = write_file(file, text); !written) return written;
  }
  return {};
}

}  // namespace lockstep
