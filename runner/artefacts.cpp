#include "artefacts.h"

#include "base/files.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/summary.h"

namespace lockstep {

Result<void> write_reports(const RunRecord& record, const std::filesystem::path& directory,
                           bool strict) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);  // a failure shows at the first file
  const std::pair<const char*, std::string> files[] = {{"run.json", run_json(record)},
                                                       {"junit.xml", junit(record, strict)},
                                                       {"report.html", html(record)},
                                                       {"summary.md", summary(record, strict)}};
  for (const auto& [name, text] : files) {
    if (auto written = write_file(directory / name, text); !written) return written;
  }
  return {};
}

}  // namespace lockstep
