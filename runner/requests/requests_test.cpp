// Requests that nobody typed: built, prepared and executed on an engine without processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "explain/fake_torch.h"
#include "plan/level.h"
#include "record/log.h"
#include "requests/certify.h"
#include "requests/decode.h"
#include "requests/member.h"
#include "requests/one_verdict.h"
#include "requests/prepare.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmallCase = R"({
  "format": 1, "title": "turns its input",
  "inputs": {"x": {"dtype": "float32", "shape": [2, 3], "fill": {"arange": {"start": 1}}}},
  "steps": [{"let": "y", "op": "neg.default", "args": ["%x"]}],
  "outputs": ["y"]
})";
constexpr const char* kAskedPath = R"({
  "format": 2, "name": "own", "title": "a compiler", "worker": ["compiler"], "contract": "values",
  "default": true, "devices": ["*"]
})";
constexpr const char* kRules = R"({"format": 1, "repeat": {"times": 2, "percent": 50},
  "floors": [{"levels": ["*"], "all": 60, "each": 20}], "tolerances": []})";

/// Hears the verdicts.
class Hearer : public Reporter {
 public:
  void run_started(const RunInfo&) override {}
  void note(const std::string&) override {}
  void running(const std::vector<std::string>&, const std::vector<std::string>&) override {}
  void verdict(const Verdict& verdict) override { ids.push_back(verdict.facts.id); }
  void run_ended(const RunRecord&) override {}
  std::vector<std::string> ids;
};

/// A suite of two cases and a path, on a torch that is none.
class Requests : public testing::Test {
 protected:
  Requests() : scratch_(std::move(*Scratch::create())), torch_(scratch_.path() / "made") {
    fs::create_directories(scratch_.path() / "made");
    write("cases/bugs/1.json", kSmallCase);
    write("cases/bugs/2.json", kSmallCase);
    write("runner/paths/own.json", kAskedPath);
    write("expected/certification.json", kRules);
    basis_.at.directory = basis_.at.home = basis_.at.suite = scratch_.path();
    basis_.at.cache = scratch_.path() / "cache";
    basis_.pace.jobs = 2;
  }

  void write(const std::string& name, const std::string& text) {
    const fs::path file = scratch_.path() / name;
    fs::create_directories(file.parent_path());
    EXPECT_TRUE(write_file(file, text));
  }

  RunRequest asked() const {
    RunRequest request;
    request.basis = basis_;
    request.out = scratch_.path() / "out";
    return request;
  }

  Means means() {
    const Json hello = {{"devices", {"cpu"}},
                        {"environment", {{"torch", "2.13.0"}, {"cpu_capability", "AVX2"}}}};
    return {{}, [this, hello] {
              return std::make_unique<FakeEngine>(
                  2, [this](const Job& job) { return torch_.answer(job); }, hello);
            }};
  }

  template <class Request>
  Answer<RunRecord> met(const Request& request, std::unique_ptr<Session> session = nullptr) {
    auto prepared = prepare(request, means(), std::move(session));
    if (!prepared) return tl::unexpected(prepared.error());
    listener_.ids.clear();
    return execute(*prepared, listener_);
  }

  static std::string said(const Failure& failure) {
    std::string text;
    for (const Error& error : failure.errors) text += error.message + "\n";
    for (const Diagnostic& each : failure.diagnostics) text += to_string(each) + "\n";
    return text;
  }

  Scratch scratch_;
  FakeTorch torch_;
  Basis basis_;
  Hearer listener_;
};

TEST_F(Requests, ARunNeedsNoCommandLine) {
  RunRequest request = asked();
  request.basis.choice.select = {"bugs/1", "bugs/2"};
  const auto record = met(request);
  ASSERT_TRUE(record) << said(record.error());
  EXPECT_THAT(listener_.ids, ElementsAre("bugs/1@cpu/own", "bugs/2@cpu/own"));
  for (const Verdict& verdict : record->verdicts) EXPECT_EQ(verdict.found.status, Status::conform);
  const auto log = read_log(request.out);
  ASSERT_TRUE(log);
  EXPECT_THAT(log->info.arguments,
              ElementsAre("run", "bugs/1", "bugs/2", "--jobs", "2", "--out", request.out.string()));
}

TEST_F(Requests, WhatContradictsItselfIsRefusedBeforeAnythingIsOpened) {
  RunRequest request = asked();
  request.reporting.accept_crashes = true;
  const auto refused = prepare(request, means());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit, Exit::usage);
  EXPECT_THAT(said(refused.error()), HasSubstr("--accept-crashes needs --update-known"));
  EXPECT_FALSE(fs::exists(request.out));
}

TEST_F(Requests, NothingSelectedIsAFailureOfItsOwn) {
  RunRequest request = asked();
  request.basis.choice.select = {"bugs/1", "!bugs/1"};
  const auto record = met(request);
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().exit, Exit::nothing) << said(record.error());
}

/// Leaves of a log all but its last two lines: a verdict and the end.
void cut(const fs::path& log) {
  std::string text = read_file(log).value();
  for (int i = 0; i < 2; ++i) text.erase(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_TRUE(write_file(log, text));
}

TEST_F(Requests, ARunIsGoneOnWithWhatItWasAsked) {
  RunRequest request = asked();
  request.basis.choice.level = "all";
  request.shuffle = "random";
  const auto whole = met(request);
  ASSERT_TRUE(whole) << said(whole.error());
  cut(request.out / "run.jsonl");
  RunRequest rest;
  rest.basis.at = basis_.at;
  rest.resume = request.out;
  const Answer<RunRecord> resumed = met(rest);
  ASSERT_TRUE(resumed) << said(resumed.error());
  EXPECT_TRUE(resumed->complete());
  ASSERT_EQ(resumed->verdicts.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(resumed->verdicts[i].facts.id, whole->verdicts[i].facts.id);
  rest.basis.pace.threads = 3;
  const auto other = met(rest);
  ASSERT_FALSE(other);
  EXPECT_THAT(said(other.error()), HasSubstr("found --threads 3 beside --resume"));
}

TEST_F(Requests, ALevelMaySayHowOftenEverythingIsExecuted) {
  write("expected/levels/races.json", R"({"format": 1, "select": ["bugs/*"], "repeat": 3})");
  RunRequest request = asked();
  request.basis.choice.level = "races";
  auto record = met(request);
  ASSERT_TRUE(record) << said(record.error());
  EXPECT_EQ(record->verdicts.front().found.executions,
            (std::map<Status, int>{{Status::conform, 3}}));
  EXPECT_THAT(record->info.arguments, Contains("--repeat"));
  request.out += "-of-two";
  request.repeat = 2;
  record = met(request);
  ASSERT_TRUE(record) << said(record.error());
  EXPECT_EQ(record->verdicts.front().found.executions,
            (std::map<Status, int>{{Status::conform, 2}}));
  request.out += "-reused";
  request.repeat = 1;
  request.reuse = true;
  record = met(request);
  ASSERT_FALSE(record);
  EXPECT_THAT(said(record.error()),
              HasSubstr("found --reuse beside --level races, which executes"));
  EXPECT_FALSE(fs::exists(request.out));
}

TEST_F(Requests, APathIsCertifiedAndItsArchiveVerified) {
  Diagnostics diagnostics;
  const auto suite = read_suite(scratch_.path(), diagnostics);
  ASSERT_TRUE(suite && diagnostics.empty());
  write("expected/levels/tiny.json",
        frozen_level({"bugs/1", "bugs/2"}, "all of it", {}, {}, *suite, nullptr));
  CertifyRequest request;
  request.basis = basis_;
  request.basis.choice.level = "tiny";
  request.basis.choice.paths = {"own"};
  request.run_folder = scratch_.path() / "certified";
  std::size_t runs = 0;
  const CarryOut carry_out = [&](const RunRequest& run, std::unique_ptr<Session> session) {
    ++runs;
    return met(run, std::move(session));
  };
  const auto certified = certify(request, carry_out);
  ASSERT_TRUE(certified) << said(certified.error());
  EXPECT_TRUE(certified->errors.empty()) << certified->errors.front().message;
  EXPECT_NE(certified->archive, "");
  EXPECT_EQ(runs, 1U);
  ASSERT_TRUE(certify(request, carry_out));
  EXPECT_EQ(runs, 2U) << "a run that is whole is taken, and a sample of it executed again";

  VerifyRequest question;
  question.basis = basis_;
  question.sample = 100;
  auto verified = verify(question, pieces_of(certified->archive));
  ASSERT_TRUE(verified) << said(verified.error());
  EXPECT_TRUE(verified->errors.empty()) << verified->errors.front().message;
  const auto sampled = execute_sample(question, std::move(*verified), carry_out);
  ASSERT_TRUE(sampled) << said(sampled.error());
  EXPECT_EQ(sampled->executed, 2U);
  EXPECT_TRUE(sampled->others.empty());
  EXPECT_EQ(runs, 3U);
}

TEST_F(Requests, OneVerdictIsPreparedForWhoAsksAboutOne) {
  Basis basis = basis_;
  basis.choice.select = {"bugs/1"};
  const auto one = prepare_one(basis, "one is asked for", means());
  ASSERT_TRUE(one) << said(one.error());
  EXPECT_EQ(one->item().id, "bugs/1@cpu/own");
  basis.choice.select = {"bugs/1", "bugs/2"};
  const auto several = prepare_one(basis, "one is asked for", means());
  ASSERT_FALSE(several);
  EXPECT_THAT(said(several.error()), HasSubstr("found 2 instances, expected one"));
}

TEST_F(Requests, AMessageSaysWhatAMemberRuns) {
  const Json message = {{"arguments",
                         {"run", "bugs/*", "--on", "dask", "--strict", "--max-fail", "3", "--junit",
                          "x.xml", "--threads", "2"}},
                        {"directory", "/there"},
                        {"out", "/mine"},
                        {"jobs", 4}};
  const auto run = decode_member(message);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(words_of(*run), ElementsAre("run", "bugs/*", "--threads", "2", "--jobs", "4", "--out",
                                          "/mine", "--strict", "--quiet"));
  EXPECT_FALSE(decode_member({{"arguments", {"list"}}, {"directory", "/"}, {"out", "x"}}));
}

TEST(Members, SayInWhatTheyAreNotAlike) {
  const auto difference = [](const auto& change) {
    RunInfo info;
    info.version = "0.1.0";
    info.digests = {{"cases", "c"}, {"judge", "j"}};
    Json eager = {{"torch", "2.13.0"}, {"cpu_capability", "AVX2"}};
    Json machine = {{"host", "h"}, {"cpu_features", "avx avx2"}};
    const Json alike = {{"run", to_json(info)},
                        {"environment", {{"eager", eager}, {"machine", machine}}}};
    change(info, eager, machine);
    return difference_from(alike, info, "eager", eager, machine);
  };
  EXPECT_EQ(difference([](RunInfo&, Json&, Json& machine) { machine["host"] = "other"; }), "");
  EXPECT_EQ(difference([](RunInfo&, Json& eager, Json&) { eager["torch"] = "2.15.0"; }),
            R"(it has torch "2.15.0", the machine of the run "2.13.0")");
  EXPECT_EQ(difference([](RunInfo&, Json& eager, Json&) { eager["cpu_capability"] = "AVX512"; }),
            R"(it has cpu_capability "AVX512", the machine of the run "AVX2")");
  EXPECT_EQ(difference([](RunInfo&, Json&, Json& machine) { machine["cpu_features"] = "avx"; }),
            "its CPU has the features avx, that of the run avx avx2");
  EXPECT_EQ(difference([](RunInfo& info, Json&, Json&) { info.digests["judge"] = "other"; }),
            "it has other judge");
  EXPECT_EQ(difference([](RunInfo& info, Json&, Json&) { info.version = "9.9"; }),
            "it is Lockstep 9.9, the run's is 0.1.0");
  EXPECT_THAT(difference([](RunInfo& info, Json&, Json&) { info.plan = "p"; }),
              HasSubstr("another plan"));
  EXPECT_THAT(difference_from(Json::object(), {}, "eager", {}, {}),
              HasSubstr("cannot be compared"));
}

TEST(Words, BehindAPathStayBehindIt) {
  const std::vector<std::string> words = {"run",    "bugs/*", "--path",   "a",   "b",     "bugs/1",
                                          "--path", "c",      "--device", "cpu", "bugs/2"};
  const auto request = decode_run(words, "/");
  ASSERT_TRUE(request) << request.error().message;
  const Choice& choice = request->basis.choice;
  EXPECT_THAT(choice.select, ElementsAre("bugs/*"));
  EXPECT_THAT(choice.paths, ElementsAre("a", "c"));
  EXPECT_THAT(choice.after_paths, ElementsAre(ElementsAre("b", "bugs/1")));
  EXPECT_THAT(choice.after_devices, ElementsAre(ElementsAre("bugs/2")));
  EXPECT_EQ(words_of(*request), words);
}

TEST(Words, FilesOfALogBeginWhereItWasMade) {
  const auto request = decode_run({"run", "--path-file", "a.json", "--from", "log"}, "/there");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->basis.files.path_files, ElementsAre("/there/a.json"));
  EXPECT_EQ(request->basis.choice.from, "/there/log");
  EXPECT_FALSE(decode_run({"run", "--no-such"}, "/"));
}

}  // namespace
}  // namespace lockstep
