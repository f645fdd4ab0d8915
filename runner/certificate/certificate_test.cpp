#include "certificate/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "certificate/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The first reason why a submission is no certificate, or nothing.
std::string refused(const Submission& submission) {
  const auto archive = make_certificate(submission);
  return archive ? "" : archive.error().front().message;
}

Verdict& verdict_of(Submission& submission, const std::string& instance) {
  for (Verdict& verdict : submission.run.verdicts) {
    if (verdict.facts.instance == instance + "@cpu") return verdict;
  }
  ADD_FAILURE() << instance;
  return submission.run.verdicts.front();
}

TEST(Certificate, IsMadeAndChecked) {
  const Submission submission = tiny_submission();
  const auto archive = make_certificate(submission);
  ASSERT_TRUE(archive) << archive.error().front().message;
  const auto checked = check_certificate(*archive, tiny_suite());
  ASSERT_TRUE(checked) << checked.error().front().message;
  EXPECT_EQ(checked->run.verdicts, submission.run.verdicts);
  EXPECT_EQ(*make_certificate(*checked), *archive) << "equal submissions give equal bytes";
}

TEST(Certificate, SaysWhatItRestsOn) {
  const Submission submission = tiny_submission();
  const Json statement = statement_of(submission, assess(submission));
  EXPECT_EQ(statement["verdicts"], Json::parse(R"({"conform": 12, "waived": 1, "upstream": 0,
                                                   "declared": 1, "unsupported": 1})"));
  EXPECT_EQ(statement["executed"]["observed"], 12);
  EXPECT_EQ(statement["torch"], "2.13.0+cpu");
  EXPECT_EQ(statement["packages"]["mine"]["package mine"], "1.2");
  EXPECT_EQ(statement["overdeclared"], Json::array({"a/declared@cpu/mine"}));
  const std::string text = statement_text(statement);
  EXPECT_THAT(text, HasSubstr("My compiler conforms to Lockstep tiny on cpu"));
  EXPECT_THAT(text, HasSubstr("a/declared@cpu/mine is declared as unsupported, and conforms"));
  EXPECT_THAT(text, HasSubstr("mm of float16: rtol 0.01, atol 0.001: It adds in halves."));
  EXPECT_THAT(text, HasSubstr("The unit rounds down. (https://example.org/1)"));
}

TEST(Certificate, WhatIsStatedIsToldApart) {
  Submission submission = tiny_submission();
  submission.run.verdicts[0].found.execution = Witness::stated;
  submission.run.verdicts[1].found.execution = std::nullopt;
  submission.run.verdicts[2].found.foreign_fraction = 0.5;
  const Assessment found = assess(submission);
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_EQ(found.observed, 10U);
  EXPECT_EQ(found.stated, 1U);
  EXPECT_EQ(found.unseen, 1U);
  EXPECT_EQ(found.partly, 1U);
}

using Edit = std::function<void(Submission&)>;

TEST(Certificate, NoneIsMadeOfWhatIsNone) {
  const std::vector<std::pair<std::string, Edit>> changes = {
      {"the run: it did not come to its end", [](Submission& it) { it.run.end.reset(); }},
      {"the run: it did not come to its end",
       [](Submission& it) { it.run.end->interrupted = true; }},
      {"the run: it is put together of shards", [](Submission& it) { it.run.info.merged = 2; }},
      {"the run: it took the level `smoke`", [](Submission& it) { it.run.info.level = "smoke"; }},
      {"the run: it took several devices",
       [](Submission& it) { it.run.info.devices.push_back("cuda:0"); }},
      {"the run: the path mine was another one",
       [](Submission& it) { it.run.info.paths[0].declared["contract"] = "bits"; }},
      {"the run: taken from an earlier run: a/0[x=0]",
       [](Submission& it) { it.run.verdicts[0].origin.reused = "2026-11-20T10:00:00Z"; }},
      {"the run: its verdicts are not in the order of its plan",
       [](Submission& it) { std::swap(it.run.verdicts[0], it.run.verdicts[1]); }},
      {"missing: a/elsewhere@cpu/mine", [](Submission& it) { it.not_meant.clear(); }},
      {"missing: a/0[x=0]@cpu/mine",
       [](Submission& it) {
         it.run.verdicts.erase(it.run.verdicts.begin());
         renumber(it.run);
       }},
      {"twice: a/0[x=0]@cpu/mine",
       [](Submission& it) {
         it.run.verdicts.push_back(it.run.verdicts.front());
         renumber(it.run);
       }},
      {"not of the level: b@cpu/mine",
       [](Submission& it) {
         it.run.verdicts.push_back(named(of_numbers({1}, {1}), "b", "aten::sin"));
         renumber(it.run);
       }},
      {"fails: a/1[x=2]@cpu/mine: value diverges",
       [](Submission& it) {
         Verdict& verdict = verdict_of(it, "a/1[x=2]");
         Verdict wrong = named(of_numbers({1}, {2}), "a/1[x=2]", "aten::sin");
         wrong.facts.index = verdict.facts.index;
         wrong.found.executions = verdict.found.executions.empty()
                                      ? wrong.found.executions
                                      : std::map<Status, int>{{Status::value_diverges, 3}};
         verdict = wrong;
       }},
      {"refused, and not declared: a/declared@cpu/mine: unsupported",
       [](Submission& it) {
         verdict_of(it, "a/declared").found.unsupported_by = UnsupportedBy::path;
       }},
      {"refused, and not declared: a/declared@cpu/mine: refused",
       [](Submission& it) { verdict_of(it, "a/declared").found.status = Status::refused; }},
      {"no 3 executions of 30 %", [](Submission& it) { it.run.info.repeated_part.reset(); }},
      {"no 3 executions of 30 %", [](Submission& it) { it.run.info.repeated_part->percent = 5; }},
      {"not executed 3 times: ",
       [](Submission& it) {
         for (Verdict& verdict : it.run.verdicts) verdict.found.executions.clear();
       }},
      {"which part is executed several times was chosen",
       [](Submission& it) { ++it.run.info.repeated_part->seed; }},
      {"too little was judged of the level: 13 of 14 (92.8 %), the floor is 95 %",
       [](Submission& it) { it.rules.floors[0].all = 95; }},
      {"too little was judged of sorting and scans: 0 of 1 (0.0 %), the floor is 20 %",
       [](Submission& it) { it.rules.floors[0].classes.erase("sorting and scans"); }},
      {"a tolerance looser than the suite bears: aten::mm float16: rtol 0.02",
       [](Submission& it) { it.path.declarations.tolerances[0].rtol = 0.02; }},
      {"a tolerance looser than the suite bears: aten::mm float32: the suite has no bound",
       [](Submission& it) { it.path.declarations.tolerances[0].dtypes = {"float32"}; }},
      {"a tolerance looser than the suite bears: aten::sin float16: the suite has no bound",
       [](Submission& it) { it.path.declarations.tolerances[0].operators = {"sin"}; }},
      {"what the path declares was not executed", [](Submission& it) { it.declared.reset(); }},
      {"the suite's rules have no floor", [](Submission& it) { it.rules.floors.clear(); }},
      {"tensors/waived.y.eager.npy, which a waived verdict names, is missing",
       [](Submission& it) { it.tensors.clear(); }},
      {"found tensors/other.npy, which no waived verdict names",
       [](Submission& it) { it.tensors["tensors/other.npy"] = "x"; }},
  };
  EXPECT_EQ(refused(tiny_submission()), "");
  for (const auto& [why, change] : changes) {
    Submission submission = tiny_submission();
    change(submission);
    EXPECT_THAT(refused(submission), HasSubstr(why));
  }
}

TEST(Certificate, WhatIsRepeatedFollowsFromPathLevelAndPackages) {
  const Submission it = tiny_submission();
  const auto seed = [&](const Json& environment) {
    return seed_by_packages(repeated_by(it.path_file, it.level_file), environment);
  };
  const Json as_it_is = it.run.environment;
  const std::uint64_t known = seed(as_it_is);
  Submission newer = it;
  newer.run.environment["mine"]["package mine"] = "1.3";
  EXPECT_THAT(refused(newer), HasSubstr("which part is executed several times was chosen"));
  EXPECT_NE(seed_by_packages(repeated_by(it.level_file, it.path_file), as_it_is), known);
  for (const auto& [worker, name] : {std::pair("mine", "package mine"), {"eager", "torch"}}) {
    Json another = as_it_is;
    another[worker][name] = "1.3";
    EXPECT_NE(seed(another), known) << name;
  }
  // What differs each time, or says the same once more, is none of it.
  Json alike = as_it_is;
  alike["machine"]["cores"] = 4;
  alike["eager"]["cpu_capability"] = "AVX512";
  alike["compiled"] = {{"torch", "2.13.0+cpu"}};
  EXPECT_EQ(seed(alike), known);
}

TEST(Certificate, WhatEveryPathDoesIsNoFaultOfOne) {
  Submission submission = tiny_submission();
  Verdict& waived = verdict_of(submission, "a/waived");
  waived.found.outputs.front().tensors.clear();
  submission.tensors.clear();
  waived.account.standing = Standing::known;
  waived.account.expectation->added = false;
  EXPECT_THAT(refused(submission), HasSubstr("fails: a/waived"));
  waived.account.expectation->every_path = true;
  EXPECT_EQ(refused(submission), "");
  waived.account.expectation->added = true;
  EXPECT_THAT(refused(submission), HasSubstr("fails: a/waived")) << "a rule of the vendor's own";
}

// Whoever checks finds the same: what another's front end refuses is waived, for that reason alone.
TEST(Certificate, WhatTheFrontEndRefusesIsNoFaultOfAnothersBackend) {
  Submission submission = tiny_submission();
  Verdict raised;
  raised.found.status = Status::internal_error;
  raised.found.front_end = true;
  Verdict& verdict = verdict_of(submission, "a/1[x=2]");
  raised.facts.index = verdict.facts.index;
  if (!verdict.found.executions.empty()) raised.found.executions = {{Status::internal_error, 3}};
  verdict = named(raised, "a/1[x=2]", "aten::sin");
  waive_front_end(verdict.found, submission.path, verdict.account);
  ASSERT_EQ(verdict.account.standing, Standing::waived);
  const auto checked = [](const Submission& made) {
    std::string said;
    const auto archive = make_certificate(made);
    if (!archive) return archive.error().front().message;
    const auto found = check_certificate(*archive, tiny_suite());
    return found ? "" : found.error().front().message;
  };
  EXPECT_EQ(checked(submission), "");
  verdict.account.expectation->reason = "it is nobody's fault";
  EXPECT_THAT(checked(submission), HasSubstr("the verdict a/1[x=2]@cpu/mine is waived"));
}

TEST(Certificate, AWaiverIsBound) {
  const auto wrong = [](const std::string& from, const std::string& to) {
    Submission submission = tiny_submission();
    std::string text(kTinyWaivers);
    text.replace(text.find(from), from.size(), to);
    submission.waiver_files = {json_file("waivers/0.json", text)};
    Diagnostics diagnostics;
    decode_files(submission, {}, diagnostics);
    return diagnostics.empty() ? "" : diagnostics.front().message;
  };
  EXPECT_EQ(wrong("rounds", "cuts"), "");
  EXPECT_THAT(wrong("\"waived\": true", "\"waived\": false"), HasSubstr("no waiver"));
  EXPECT_THAT(wrong("\"devices\": [\"cpu\"], ", ""), HasSubstr("bound to no device"));
  EXPECT_THAT(wrong("[\"cpu\"], \"env", "[\"*\"], \"env"), HasSubstr("bound to no device"));
  EXPECT_THAT(wrong("\"environment\": {\"cpu\": \"Some*\"}, ", ""),
              HasSubstr("bound to no driver"));
}

TEST(Certificate, ALevelThatIsNotFrozenIsNone) {
  Submission submission = tiny_submission();
  submission.level_file = json_file("level.json", R"({"format": 1, "select": ["*"]})");
  Diagnostics diagnostics;
  decode_files(submission, {}, diagnostics);
  ASSERT_FALSE(diagnostics.empty());
  EXPECT_THAT(diagnostics.front().message, HasSubstr("not frozen"));
}

}  // namespace
}  // namespace lockstep
