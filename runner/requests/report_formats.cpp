#include "requests/report_formats.h"

#include "reports/accuracy.h"
#include "reports/ctrf.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/junit.h"
#include "reports/summary.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool always(const RunRecord&) { return true; }

bool has_pointwise_cases(const RunRecord& record) { return !accuracy_table(record).rows.empty(); }

std::string make_junit(const RunRecord& record, bool strict, const fs::path&) {
  return junit(record, strict);
}

std::string make_ctrf(const RunRecord& record, bool strict, const fs::path&) {
  return ctrf(record, strict);
}

std::string make_html(const RunRecord& record, bool, const fs::path& file) {
  return html(record, file);
}

std::string make_json(const RunRecord& record, bool, const fs::path&) { return run_json(record); }

std::string make_summary(const RunRecord& record, bool strict, const fs::path&) {
  return summary(record, strict);
}

std::string make_accuracy(const RunRecord& record, bool, const fs::path& file) {
  const AccuracyTable table = accuracy_table(record);
  return file.extension() == ".json" ? accuracy_json(table) : accuracy_text(table);
}

const ReportFormat kFormats[] = {
    {"--junit",
     "Write JUnit XML to FILE (- is standard output)",
     {"junit.xml"},
     always,
     make_junit},
    {"--ctrf", "Write the Common Test Report Format to FILE", {"ctrf.json"}, always, make_ctrf},
    {"--html", "Write the page to FILE", {"report.html"}, always, make_html},
    {"--json", "Write run.json to FILE", {"run.json"}, always, make_json},
    {"--summary", "Write the Markdown summary to FILE", {"summary.md"}, always, make_summary},
    {"--accuracy",
     "Write the accuracy of pointwise cases to FILE, as JSON if it is called NAME.json",
     {"accuracy.txt", "accuracy.json"},
     has_pointwise_cases,
     make_accuracy},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return kFormats; }

}  // namespace lockstep
