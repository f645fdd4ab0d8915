#include "requests/reporting.h"

#include <fmt/format.h>

#include "base/text.h"
#include "requests/report_formats.h"

namespace lockstep {

std::vector<std::string> on_standard_output(const Reporting& reporting) {
  std::vector<std::string> flags;
  for (const ReportFormat& report : report_formats()) {
    const auto file = reporting.files.find(report.flag);
    if (file != reporting.files.end() && file->second == "-") flags.emplace_back(report.flag);
  }
  if (reporting.update_known == "-") flags.emplace_back("--update-known");
  return flags;
}

bool writes_to_stdout(const Reporting& reporting) { return !on_standard_output(reporting).empty(); }

Answer<void> check(const Reporting& reporting) {
  if (reporting.accept_crashes && reporting.update_known.empty())
    return refuse(Exit::usage, {"--accept-crashes needs --update-known", ""});
  const auto flags = on_standard_output(reporting);
  if (flags.size() < 2) return {};
  return refuse(Exit::usage, {fmt::format("found {} on standard output, which has room for one",
                                          enumerate(flags)),
                              "give the others a file each"});
}

std::string proposals_file(const Reporting& reporting, const Surroundings& at) {
  if (reporting.update_known != "default") return reporting.update_known;
  return (at.suite / "expected" / "known" / "proposed.json").string();
}

}  // namespace lockstep
