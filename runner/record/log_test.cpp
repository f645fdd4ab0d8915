#include "record/log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/fixtures.h"
#include "base/text.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lockstep-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path file() const { return directory_ / RunLog::kFileName; }
  std::string text() const { return read_file(file()).value_or("unreadable"); }
  void write(std::string_view bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }

  fs::path directory_;
};

RunInfo some_info() {
  RunInfo info;
  info.version = "0.1.0";
  info.started = "2026-11-21T10:00:00Z";
  info.planned = 3;
  info.paths = {{"inductor", "Inductor", "values"}};
  info.devices = {"cpu"};
  return info;
}

Verdict some_verdict(std::size_t index, Status status = Status::conform) {
  Verdict verdict;
  verdict.facts.instance = "ops/add" + std::to_string(index) + "@cpu";
  verdict.facts.path = "inductor";
  verdict.facts.device = "cpu";
  verdict.facts.id = verdict.facts.instance + "/inductor";
  verdict.facts.index = index;
  verdict.found.status = status;
  if (status != Status::conform) return verdict;
  OutputComparison y;
  y.name = "y";
  y.elements = 1;
  y.grade = verdict.found.grade = Grade::bits;
  verdict.found.outputs.push_back(y);
  return verdict;
}

TEST_F(RunLogTest, WhatIsWrittenIsReadBack) {
  Result<RunLog> log = RunLog::create(directory_ / "made" / "here", some_info());
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_TRUE(log->environment("eager", {{"torch", "2.13.0"}}));
  ASSERT_TRUE(log->verdict(some_verdict(1, Status::crash)));
  ASSERT_TRUE(log->verdict(some_verdict(0)));
  ASSERT_TRUE(
      log->end({.seconds = 1.5, .interrupted = false, .unmatched = {{"known.json:1", "x"}}}));

  const Result<RunRecord> record = read_log(directory_ / "made" / "here");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->info.planned, 3u);
  EXPECT_EQ(record->environment["eager"]["torch"], "2.13.0");
  ASSERT_EQ(record->verdicts.size(), 2u);
  EXPECT_EQ(record->verdicts[0].facts.id, "ops/add0@cpu/inductor");
  EXPECT_EQ(record->verdicts[1].found.status, Status::crash);
  ASSERT_TRUE(record->end);
  EXPECT_EQ(record->end->seconds, 1.5);
  EXPECT_EQ(record->end->unmatched.at(0).where, "known.json:1");
}

TEST_F(RunLogTest, GoesToWhoeverReadsADescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    auto log = RunLog::to(ends[1], some_info());
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->environment("eager", {{"torch", "2.13.0"}}));
    ASSERT_TRUE(log->verdict(some_verdict(2)));
    ASSERT_TRUE(log->end({})) << "a pipe is on no disk";
  }
  char bytes[1 << 14];
  const ssize_t count = ::read(ends[0], bytes, sizeof bytes);
  EXPECT_EQ(::read(ends[0], bytes, 1), 0) << "it is closed with the log";
  ::close(ends[0]);
  ASSERT_GT(count, 0);
  const std::string_view said(bytes, static_cast<std::size_t>(count));
  const auto record = parse_log(said, "pipe");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->verdicts, std::vector<Verdict>{some_verdict(2)});
  EXPECT_TRUE(record_of(said.substr(0, said.find('\n'))));
  EXPECT_FALSE(record_of("{}"));
  EXPECT_FALSE(record_of("[1"));
}

TEST_F(RunLogTest, EveryRecordIsOneLineThatBeginsWithItsType) {
  Result<RunLog> log = RunLog::create(directory_, some_info());
  Verdict verdict = some_verdict(0);
  verdict.found.reason = "two\nlines\u2028three";
  ASSERT_TRUE(log->verdict(verdict));
  EXPECT_THAT(text(), HasSubstr("\n{\"type\":\"verdict\","));
  EXPECT_EQ(std::ranges::count(text(), '\n'), 2);
}

TEST_F(RunLogTest, InvalidUtf8IsRepaired) {
  Result<RunLog> log = RunLog::create(directory_, some_info());
  ASSERT_TRUE(log->environment("eager", {{"broken", "\xff\xc3("}}));
  Verdict verdict = some_verdict(0);
  verdict.origin.stderr_tail = "bytes \xff\xfe";
  verdict.found.proof = {{"k\xff", "\xed\xa0\x80"}};
  ASSERT_TRUE(log->verdict(verdict));
  const Result<RunRecord> record = read_log(file());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_THAT(record->verdicts.at(0).origin.stderr_tail, HasSubstr("bytes \uFFFD"));
}

TEST_F(RunLogTest, EveryPrefixOfALogIsReadableAndResumable) {
  {
    Result<RunLog> log = RunLog::create(directory_, some_info());
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(log->verdict(some_verdict(i)));
    ASSERT_TRUE(log->end({}));
  }
  const std::string whole = text();
  const std::size_t first = whole.find('\n') + 1;
  for (std::size_t size = first; size <= whole.size(); size += 7) {
    write(whole.substr(0, size));
    const Result<RunRecord> before = read_log(file());
    ASSERT_TRUE(before) << size << ": " << before.error().message;
    {
      Result<RunLog> log = RunLog::append_to(directory_, some_info());
      ASSERT_TRUE(log) << size << ": " << log.error().message;
      for (std::size_t i = before->verdicts.size(); i < 3; ++i)
        ASSERT_TRUE(log->verdict(some_verdict(i)));
      ASSERT_TRUE(log->end({}));
    }
    const Result<RunRecord> after = read_log(file());
    ASSERT_TRUE(after) << size << ": " << after.error().message;
    EXPECT_EQ(after->verdicts.size(), 3u) << size;
    EXPECT_TRUE(after->end) << size;
  }
}

TEST_F(RunLogTest, AResumedRunMayJudgeAnIdAgainAndUndoesTheEnd) {
  {
    Result<RunLog> log = RunLog::create(directory_, some_info());
    ASSERT_TRUE(log->verdict(some_verdict(0, Status::timeout)));
    ASSERT_TRUE(log->end({.seconds = 1, .interrupted = true, .unmatched = {}}));
  }
  Result<RunLog> log = RunLog::append_to(directory_, some_info());
  EXPECT_THAT(text(), HasSubstr("\n{\"type\":\"resumed\",\"version\":\"0.1.0\","));
  EXPECT_FALSE(read_log(file())->end);
  ASSERT_TRUE(log->verdict(some_verdict(0)));
  const Result<RunRecord> record = read_log(file());
  ASSERT_TRUE(record) << record.error().message;
  ASSERT_EQ(record->verdicts.size(), 1u);
  EXPECT_EQ(record->verdicts[0].found.status, Status::conform);
  EXPECT_FALSE(record->end);
}

TEST_F(RunLogTest, ASecondVerdictThatNoResumptionExplainsIsRefused) {
  Result<RunLog> log = RunLog::create(directory_, some_info());
  ASSERT_TRUE(log->verdict(some_verdict(0, Status::value_diverges)));
  ASSERT_TRUE(log->verdict(some_verdict(1)));
  ASSERT_TRUE(log->verdict(some_verdict(0)));
  EXPECT_THAT(read_log(file()).error().message,
              AllOf(HasSubstr("run.jsonl:4: found a second verdict of ops/add0@cpu/inductor"),
                    HasSubstr("line 2")));
}

TEST_F(RunLogTest, NothingFollowsAnEndButAResumption) {
  Result<RunLog> log = RunLog::create(directory_, some_info());
  ASSERT_TRUE(log->end({}));
  ASSERT_TRUE(log->verdict(some_verdict(0)));
  EXPECT_THAT(read_log(file()).error().message,
              HasSubstr("run.jsonl:3: found a record of type \"verdict\" after the end in line 2"));
}

TEST_F(RunLogTest, AnExistingLogIsNotOverwritten) {
  ASSERT_TRUE(RunLog::create(directory_, some_info()));
  const Result<RunLog> again = RunLog::create(directory_, some_info());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("exists already"));
  const auto files = std::filesystem::directory_iterator(directory_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "only the log";
}

TEST_F(RunLogTest, TwoWritersAreRefused) {
  const Result<RunLog> log = RunLog::create(directory_, some_info());
  const Result<RunLog> second = RunLog::append_to(directory_, some_info());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another process"));
}

TEST_F(RunLogTest, AnUnwritablePlaceIsAClearError) {
  write("a file");
  const Result<RunLog> log = RunLog::create(file() / "below", some_info());
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("cannot make"));
  EXPECT_THAT(log.error().hint, HasSubstr("is a file"));
}

/// Lets no file grow beyond `bytes`: as a full disk does, the kernel first writes a part and then
/// refuses.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(RunLogTest, AFullDiskIsAClearErrorAndTheLogStaysWhole) {
  Result<RunLog> log = RunLog::create(directory_, some_info());
  ASSERT_TRUE(log->verdict(some_verdict(0)));
  const std::string before = text();
  {
    const FullDisk full(before.size() + 20);
    const Result<void> written = log->verdict(some_verdict(1));
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("cannot write"));
    EXPECT_THAT(written.error().hint, HasSubstr("make room"));
    EXPECT_EQ(text(), before);
  }
  ASSERT_TRUE(log->verdict(some_verdict(2)));  // room was made
  const Result<RunRecord> record = read_log(file());
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->verdicts.size(), 2u);
}

TEST_F(RunLogTest, ALogThatCannotBeginIsNotLeftBehind) {
  const FullDisk full(10);
  ASSERT_FALSE(RunLog::create(directory_, some_info()));
  EXPECT_FALSE(fs::exists(file()));
}

struct Refused {
  const char* text;
  const char* message;
};

class ParseLog : public testing::TestWithParam<Refused> {};

TEST_P(ParseLog, Refuses) {
  const Result<RunRecord> record = parse_log(GetParam().text, "run.jsonl");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr(GetParam().message));
}

constexpr const char* kRun =
    R"({"type":"run","format":3,"version":"","started":"","arguments":[],"level":"","digests":{},"plan":"","planned":0,"jobs":1,"min_judged":null,"paths":[],"absent_paths":[],"devices":[]})"
    "\n";
const std::string kTwoRuns = std::string(kRun) + kRun;
const std::string kDamaged = std::string(kRun) + "{\"type\":\n{}\n";
const std::string kBadVerdict = std::string(kRun) + "{\"type\":\"verdict\"}\n";

INSTANTIATE_TEST_SUITE_P(
    Files, ParseLog,
    testing::Values(Refused{"", "no whole record"}, Refused{"{\"type\":\"run\"", "no whole record"},
                    Refused{"hello\n", "run.jsonl:1: this is no run log"},
                    Refused{"{\"type\":\"verdict\"}\n", "begins with a record"},
                    Refused{"{\"type\":\"run\",\"format\":2}\n", "format 2"},
                    Refused{kTwoRuns.c_str(), "run.jsonl:2: a second run"},
                    Refused{kDamaged.c_str(), "run.jsonl:2: this line is no record"},
                    Refused{kBadVerdict.c_str(), "run.jsonl:2: verdict"}));

/// A log of one verdict.
std::string log_of(const Verdict& verdict) {
  const Json run = to_json(some_info());
  Json record = {{"type", "verdict"}};
  record.update(to_json(verdict));
  return run.dump() + "\n" + record.dump() + "\n";
}

TEST(ParseLogTest, AVerdictThatContradictsItselfIsRefusedWithItsLine) {
  Verdict verdict = some_verdict(0, Status::crash);
  verdict.found.differences = {{Status::crash, "", "died of signal 11"}};
  EXPECT_TRUE(parse_log(log_of(verdict), "run.jsonl"));
  verdict.found.status = Status::conform;
  const Result<RunRecord> rewritten = parse_log(log_of(verdict), "run.jsonl");
  ASSERT_FALSE(rewritten);
  EXPECT_EQ(rewritten.error().message,
            "run.jsonl:2: the verdict ops/add0@cpu/inductor contradicts itself: its status is "
            "conform, by its first difference crash");
}

TEST_F(RunLogTest, AnExplanationMayFollowTheEndAndBelongsToItsVerdict) {
  const Json said = {{"id", some_verdict(0).facts.id}, {"sentence", "Inductor, `add` by itself"}};
  {
    auto log = RunLog::create(directory_, some_info());
    ASSERT_TRUE(log->verdict(some_verdict(0)));
    ASSERT_TRUE(log->verdict(some_verdict(1)));
    ASSERT_TRUE(log->end({}));
  }
  {
    auto log = RunLog::reopen(directory_);
    ASSERT_TRUE(log) << log.error().message;
    ASSERT_TRUE(log->explanation(said));
  }
  const auto record = read_log(directory_);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_TRUE(record->end);
  EXPECT_EQ(record->verdicts.at(0).account.explained, said);
  EXPECT_TRUE(record->verdicts.at(1).account.explained.is_null());
  // There is one text of a record, which is read back as it.
  const auto again = parse_log(log_text(*record), "text");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->verdicts, record->verdicts);
  // Who judges it again knows nothing yet of who did it.
  {
    auto log = RunLog::append_to(directory_, some_info());
    ASSERT_TRUE(log->verdict(some_verdict(0)));
  }
  EXPECT_TRUE(read_log(directory_)->verdicts.at(0).account.explained.is_null());
}

TEST(ParseLogTest, AnExplanationOfNothingOrOfAnotherFormIsRefused) {
  const auto read = [](const Json& explanation) {
    Json record = {{"type", "explanation"}};
    record.update(explanation);
    const auto parsed = parse_log(log_of(some_verdict(0)) + record.dump() + "\n", "run.jsonl");
    return parsed ? std::string() : parsed.error().message;
  };
  const std::string id = some_verdict(0).facts.id;
  EXPECT_EQ(read({{"id", id}, {"sentence", ""}, {"new", 1}}), "");
  EXPECT_EQ(read({{"id", "ops/other@cpu/inductor"}, {"sentence", ""}}),
            "run.jsonl:3: found an explanation of ops/other@cpu/inductor, of which there is no "
            "verdict before");
  EXPECT_EQ(read({{"id", id}}), "run.jsonl:3: an explanation needs `sentence`");
  const std::pair<const char*, Json> wrong[] = {{"id", 1},
                                                {"sentence", Json::array()},
                                                {"operators", {"add", 1}},
                                                {"guilty", {"first"}},
                                                {"ladder", {"inductor"}},
                                                {"knobs", {{{"name", "a"}, {"ends", "yes"}}}},
                                                {"steps", {{{"text", 1}}}},
                                                {"steps", {{{"at", {1.5}}}}},
                                                {"pass", {{"number", "one"}}},
                                                {"open", "nothing"}};
  for (const auto& [key, value] : wrong) {
    Json explanation = {{"id", id}, {"sentence", ""}};
    explanation[key] = value;
    EXPECT_THAT(read(explanation), HasSubstr("has another type than expected")) << key;
  }
}

TEST(ParseLogTest, SkipsRecordsOfTypesToCome) {
  const Result<RunRecord> record =
      parse_log(std::string(kRun) + "{\"type\":\"weather\"}\n", "run.jsonl");
  ASSERT_TRUE(record) << record.error().message;
}

/// The log of a run of nothing, and these lines after its first.
Result<RunRecord> log_with(const std::vector<std::string>& lines,
                           const RunInfo& info = some_info()) {
  std::string text = to_json(info).dump() + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return parse_log(text, "log");
}

std::string verdict_line(const std::function<void(Verdict&)>& change) {
  Verdict verdict = some_verdict(0);
  change(verdict);
  Json json = {{"type", "verdict"}};
  json.update(to_json(verdict));
  return json.dump();
}

TEST(LogNames, AreWaysBelowASuite) {
  EXPECT_TRUE(log_with({verdict_line([](Verdict&) {})}));
  const std::vector<std::string> wrong = {"../../etc/passwd@cpu/x",
                                          "/etc/passwd@cpu/x",
                                          "a/../b@cpu/x",
                                          "a//b@cpu/x",
                                          "./a@cpu/x",
                                          "a@cpu/..",
                                          "a\nb@cpu/x",
                                          "a\x1b[2J@cpu/x",
                                          "",
                                          std::string(5000, 'a')};
  for (const std::string& id : wrong) {
    const auto read = log_with({verdict_line([&](Verdict& verdict) { verdict.facts.id = id; })});
    ASSERT_FALSE(read) << id;
    EXPECT_THAT(read.error().message, HasSubstr("log:2: found "));
    EXPECT_FALSE(log_with({verdict_line([&](Verdict& verdict) { verdict.facts.instance = id; })}));
  }
  for (const char* id : {"a[x=..]@cpu/y", "a[x=/../]@cpu/y"})
    EXPECT_EQ(
        log_with({verdict_line([&](Verdict& verdict) { verdict.facts.id = id; })}).has_value(),
        std::string_view(id) == "a[x=..]@cpu/y")
        << id;
  for (const char* file : {"/etc/passwd", "tensors/../../etc/passwd", "run.jsonl", "tensors//x"}) {
    const auto read = log_with({verdict_line([&](Verdict& verdict) {
      verdict.found.outputs.resize(1);
      verdict.found.outputs[0].name = "y";
      verdict.found.outputs[0].tensors = {file};
    })});
    ASSERT_FALSE(read) << file;
    EXPECT_THAT(read.error().message, HasSubstr("below tensors/"));
  }
}

TEST(LogLimits, AreThoseOfTheDocument) {
  const std::string text = read_source("docs/reference/log.md");
  const LogLimits& log = kLogLimits;
  for (const std::string& row : {fmt::format("| a log | bytes | {} |", grouped(log.bytes)),
                                 fmt::format("| | records | {} |", grouped(log.records)),
                                 fmt::format("| | bytes of a record | {} |", grouped(log.line)),
                                 fmt::format("| {} and 64 |", grouped(log.values)),
                                 fmt::format("| {} and {} |", log.paths, log.layers),
                                 fmt::format("| {} and {} |", log.environments, grouped(log.facts)),
                                 fmt::format("allow list | bytes | {} |", grouped(kLargestJson))})
    EXPECT_THAT(text, HasSubstr(row));
}

TEST(LogLimits, AreNamedWithTheirLine) {
  const auto refusal = [](const Result<RunRecord>& read) {
    return read ? std::string("it was read") : read.error().message + "; " + read.error().hint;
  };
  std::vector<std::string> lines;
  for (std::size_t i = 0; i <= kLogLimits.environments; ++i)
    lines.push_back(fmt::format(R"({{"type":"environment","name":"{}","values":{{}}}})", i));
  EXPECT_THAT(refusal(log_with(lines)),
              HasSubstr("log:258: found more than 256 names of environments, the most that a log"));
  // Of the same name each replaces the one before; together they say too much.
  lines.assign(kLogLimits.facts / 2 + 2,
               R"({"type":"environment","name":"x","values":{"a":1,"b":2}})");
  EXPECT_THAT(refusal(log_with(lines)), HasSubstr("more than 16,384 facts of environments"));
  RunInfo info = some_info();
  info.paths.assign(kLogLimits.paths + 1, {"x", "y", "bits"});
  EXPECT_THAT(refusal(log_with({}, info)), HasSubstr("log:1: found more than 256 paths"));
  lines.clear();
  for (std::size_t i = 0; i <= kLogLimits.paths; ++i)
    lines.push_back(verdict_line([&](Verdict& verdict) {
      verdict.facts.path = fmt::format("p{}", i);
      verdict.facts.id = verdict.facts.instance + "/" + verdict.facts.path;
    }));
  EXPECT_THAT(refusal(log_with(lines)), HasSubstr("found more than 256 paths"));
  info.paths.clear();
  for (std::size_t i = 0; i <= kLogLimits.layers; ++i)
    info.paths.push_back(
        {fmt::format("p{}", i), "", "bits", "", {{"above", fmt::format("p{}", i + 1)}}});
  EXPECT_THAT(refusal(log_with({}, info)), HasSubstr("found more than 32 layers"));
  EXPECT_THAT(
      refusal(log_with({R"({"type":"later","x":")" + std::string(kLogLimits.line, 'x') + "\"}"})),
      HasSubstr("log:2: this line has more than 16,777,216 bytes"));
  std::string values = R"({"type":"later","x":[0)";
  for (std::size_t i = 0; i < kLogLimits.values; ++i) values += ",0";
  EXPECT_THAT(refusal(log_with({values + "]}"})), HasSubstr("more than 262,144 values"));
}

}  // namespace
}  // namespace lockstep
