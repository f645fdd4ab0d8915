#include "reports/fixtures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "record/log.h"

namespace lockstep {
namespace {

std::filesystem::path testdata(std::string_view name) {
  return std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "reports/testdata" / name;
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

RunRecord sample_run() {
  Result<RunRecord> record = read_log(testdata("sample.jsonl"));
  if (!record) {
    ADD_FAILURE() << record.error().message;
    return {};
  }
  record->directory = "/ci/run";  // wherever this test is
  return std::move(*record);
}

RunRecord hostile_run() {
  const std::string nasty =
      "</script><script>alert(1)</script><!-- --> ]]> & \" ' `<img src=x onerror=alert(1)>` | "
      "{{data}} "
      "\x1b[31mred\x1b[0m\x1b]0;title\a \r\n::error::x %0A\t\x01\x02\x7f \xff\xfe\xc3( \xe2\x80\xae"
      "reversed \xed\xa0\x80 \xef\xbf\xbf \xe2\x81\xa6"
      "apart ##[add-mask]x ##vso[task.x]y ##TeamCity[z] section_start:1:x\r\x1b[0K "
      "[[ATTACHMENT|/etc/passwd]] [[PROPERTY|a=b]]\n  ::stop-commands::x end";
  RunRecord record;
  record.directory = "/ci/run";
  record.info.version = record.info.started = record.info.plan = nasty;
  record.info.digests = {{nasty, nasty}};
  record.info.absent_paths = {{nasty, nasty}};
  record.info.arguments = {nasty, ""};
  record.info.planned = 4;
  record.info.paths = {{nasty, nasty, nasty}};
  record.info.devices = {nasty};
  record.environment = {{nasty, {{nasty, nasty}, {"number", 1.5}}}, {"machine", "no object"}};
  for (std::size_t i = 0; i < 3; ++i) {
    Verdict& verdict = record.verdicts.emplace_back();
    verdict.facts.instance = nasty + (i == 2 ? "\x01" : "");  // differs only in what is dropped
    verdict.facts.path = nasty;
    verdict.facts.id = fmt::format("{}/{}", verdict.facts.instance, nasty);
    verdict.facts.title = verdict.found.reason = verdict.facts.case_file = verdict.facts.device =
        verdict.found.stage = nasty;
    verdict.facts.index = i;
    verdict.found.status = i == 1 ? Status::crash : Status::value_diverges;
    OutputComparison& output = verdict.found.outputs.emplace_back();
    output.name = output.policy = output.reason = output.type = nasty;
    output.eager = output.compiled = nasty;
    output.status = Status::value_diverges;
    output.worst = {1};
    output.heat = HeatMap{-1, 1 << 20, {0, 3}, {}};
    output.tensors = {nasty};
    output.classes = {-1, 1 << 20, 0, 0, 0, 3};
    output.first = {{{1, 2}, {nasty, nasty}, nasty, nasty}, {}};
    output.accuracy = {{nasty, -1, 0, 0}, {"special", -5, HUGE_VAL, -1}};
    output.ulp_histogram = {-1, 0, 1 << 20};
    output.error_curve = ErrorCurve{nasty, {HUGE_VAL, NAN}, {-1}, {0, HUGE_VAL, 3}};
    verdict.found.eager_error =
        RaisedError{nasty, nasty, nasty, {nasty}, ErrorKind::internal, nasty};
    verdict.found.compiled_error = RaisedError{nasty, nasty, std::string(1 << 20, 'm') + nasty, {}};
    verdict.origin.stderr_tail = std::string(1 << 20, 'e');
    verdict.found.proof = {{nasty, nasty}};
    verdict.origin.phases = {{"run", 1}};
    verdict.facts.links = {"javascript:alert(1)", nasty};
    verdict.origin.repro = verdict.facts.program = nasty;
    verdict.facts.tags = verdict.facts.operators = verdict.facts.dtypes = {nasty};
    verdict.account.expectation = ExpectationRef{nasty, Status::crash, Because::bug, nasty, nasty};
  }
  record.end = RunEnd{1, true, {{nasty, nasty}}};
  return record;
}

RunRecord large_run(std::size_t count) {
  const RunRecord sample = sample_run();
  RunRecord record = sample;
  record.verdicts.clear();
  record.info.planned = count;
  record.info.paths.push_back({"aoti", "ahead of time", "values"});
  if (sample.verdicts.empty()) return record;
  for (std::size_t i = 0; i < count; ++i) {
    // Mostly conforming, as runs are.
    const std::size_t kind = i % 7 == 3 ? i / 7 % sample.verdicts.size() : 0;
    Verdict& verdict = record.verdicts.emplace_back(sample.verdicts[kind]);
    verdict.facts.path = record.info.paths[i % 3].name;
    verdict.facts.instance = fmt::format("ops/family-{:02}/case-{}[dtype=float32,dim={}]@cpu",
                                         i / 300, i / 12, i / 3 % 4);
    verdict.facts.id = verdict.facts.instance + "/" + verdict.facts.path;
    verdict.facts.index = i;
  }
  return record;
}

void expect_golden(std::string_view name, const std::string& text) {
  if (is_set("LOCKSTEP_RENEW")) {
    ASSERT_FALSE(is_set("CI"))
        << "LOCKSTEP_RENEW is for people: goldens are read before they are committed";
    const Result<void> written = write_file(testdata(name), text);
    ASSERT_TRUE(written) << written.error().message;
    return;
  }
  const Result<std::string> golden = read_file(testdata(name));
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(*golden, text) << "if the change is meant: LOCKSTEP_RENEW=1, and read the diff of "
                           << name;
}

TEST(Fixtures, TheSampleHasEveryStanding) {
  std::set<Standing> standings;
  for (const Verdict& verdict : sample_run().verdicts) standings.insert(verdict.account.standing);
  EXPECT_EQ(standings.size(), all_standings().size());
}

}  // namespace lockstep
