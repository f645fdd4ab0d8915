#include "expectations/expectations.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/files.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

Expectation rule(Status status) {
  Expectation result;
  result.where = "expected/known/a.json:3";
  result.instances = {"bugs/1*"};
  result.paths = {"inductor"};
  result.status = status;
  result.because = Because::bug;
  return result;
}

Verdict verdict(Status status, const std::string& path = "inductor") {
  Verdict result;
  result.facts.instance = "bugs/1[dim=0]@cpu";
  result.facts.path = path;
  result.facts.device = "cpu";
  result.found.status = status;
  return result;
}

Standing standing(const Expectation& expectation, Verdict judged,
                  const ExpectationConditions& conditions = {
                      "2.13.0", "avx512", {"avx2", "avx512_fp16"}, "2026-11-21"}) {
  Expectations({expectation}, conditions)
      .apply(judged.facts, judged.found, "bugs/1", judged.account);
  return judged.account.standing;
}

TEST(Expectations, GiveAStanding) {
  const Expectation expected = rule(Status::value_diverges);
  EXPECT_EQ(standing(expected, verdict(Status::value_diverges)), Standing::known);
  EXPECT_EQ(standing(expected, verdict(Status::conform)), Standing::fixed);
  EXPECT_EQ(standing(expected, verdict(Status::crash)), Standing::new_);  // worse than known: new
  EXPECT_EQ(standing(expected, verdict(Status::value_diverges, "eager")), Standing::new_);
  EXPECT_EQ(standing(expected, verdict(Status::unsupported)), Standing::new_);
}

TEST(Expectations, OfAPathKnowWhatItsVariantsDoAndAreNotGoneThere) {
  Expectation expected = rule(Status::value_diverges);
  for (const char* paths : {"inductor", "inductor*", "*"}) {
    expected.paths = {paths};
    EXPECT_EQ(standing(expected, verdict(Status::value_diverges, "inductor.avx2")),
              Standing::known);
    EXPECT_EQ(standing(expected, verdict(Status::conform, "inductor.avx2")), Standing::new_);
    EXPECT_EQ(standing(expected, verdict(Status::conform)), Standing::fixed);
  }
  expected.paths = {"inductor.avx2"};
  EXPECT_EQ(standing(expected, verdict(Status::conform, "inductor.avx2")), Standing::fixed);
  EXPECT_EQ(standing(expected, verdict(Status::value_diverges)), Standing::new_);
}

// A CPU is to a path what the path may use of it.
TEST(Expectations, AskForTheCpuThatThePathHas) {
  ExpectationConditions here{"2.13.0", "avx512", {"avx2", "avx512_fp16"}, "2026-11-21"};
  here.cpu_of_paths["inductor.avx2"] = {"avx2", {"avx2"}};
  Expectation expected = rule(Status::value_diverges);
  const auto stands = [&](const char* path) {
    return standing(expected, verdict(Status::value_diverges, path), here);
  };
  expected.cpu_levels = {"avx2"};
  EXPECT_EQ(stands("inductor.avx2"), Standing::known);
  EXPECT_EQ(stands("inductor"), Standing::new_);
  EXPECT_EQ(stands("inductor.threads4"), Standing::new_);
  expected.cpu_levels.clear();
  expected.cpu_features = {"avx512_fp16"};
  EXPECT_EQ(stands("inductor.avx2"), Standing::new_);
  EXPECT_EQ(stands("inductor"), Standing::known);
}

// Torch's own AOT divergences are known on every path that compiles through it, whatever its name.
TEST(Expectations, AskForWhatTheMachineSaysOfItself) {
  Expectation bound = rule(Status::value_diverges);
  bound.environment = {{"cuda:0", "*H100*"}, {"torch", "2.13.*"}};
  ExpectationConditions conditions{"2.13.0", "avx512", {}, "2026-11-21"};
  const Json eager = {{"torch", "2.13.0"}, {"cores", 7}};
  conditions.environment = facts_of({{"cuda:0", "NVIDIA H100"}, {"cores", 2}}, eager);
  EXPECT_EQ(conditions.environment["cores"], "2") << "the machine's word counts";
  EXPECT_EQ(standing(bound, verdict(Status::value_diverges), conditions), Standing::known);
  conditions.environment["cuda:0"] = "NVIDIA A100";
  EXPECT_EQ(standing(bound, verdict(Status::value_diverges), conditions), Standing::new_);
  conditions.environment.erase("cuda:0");
  EXPECT_EQ(standing(bound, verdict(Status::value_diverges), conditions), Standing::new_);
}

// What another's backend was never handed does not fail it, unless a rule says otherwise.
TEST(Expectations, OfAnothersFrontEndAreWaived) {
  Path path;
  path.torchs_own = false;
  const auto standing_on = [](const Path& taken, bool front_end, Status status, Standing before) {
    Verdict judged = verdict(status);
    judged.found.front_end = front_end;
    judged.account.standing = before;
    waive_front_end(judged.found, taken, judged.account);
    return judged.account.standing;
  };
  const auto plain = Standing::new_;
  EXPECT_EQ(standing_on(path, true, Status::internal_error, plain), Standing::waived);
  EXPECT_EQ(standing_on(path, false, Status::internal_error, plain), plain);
  EXPECT_EQ(standing_on(path, true, Status::conform, plain), plain);
  EXPECT_EQ(standing_on(path, true, Status::internal_error, Standing::known), Standing::known);
  path.torchs_own = true;
  EXPECT_EQ(standing_on(path, true, Status::internal_error, plain), plain);
}

TEST(Expectations, SayWhetherTheySpeakOfEveryPath) {
  const auto speaks = [](std::vector<std::string> paths) {
    Expectation expectation = rule(Status::value_diverges);
    expectation.paths = std::move(paths);
    Verdict judged = verdict(Status::value_diverges);
    Expectations({expectation}, {"2.13.0", "", {}, "2026-11-21"})
        .apply(judged.facts, judged.found, "bugs/1", judged.account);
    return judged.account.expectation && judged.account.expectation->every_path;
  };
  EXPECT_TRUE(speaks({"*", "!eager-python"}));
  EXPECT_FALSE(speaks({"inductor"}));
  EXPECT_FALSE(speaks({"induct*"}));
}

TEST(Expectations, CanBeAboutEveryPathThroughAot) {
  Expectation expected = rule(Status::metadata_diverges);
  expected.paths = {"*"};
  expected.through_aot = true;
  Verdict seen = verdict(Status::metadata_diverges, "a-vendors");
  EXPECT_EQ(standing(expected, seen), Standing::new_);
  seen.found.through_aot = true;
  EXPECT_EQ(standing(expected, seen), Standing::known);
  seen.found.status = Status::conform;
  EXPECT_EQ(standing(expected, seen), Standing::fixed);
}

// What happens now and then is known where it is seen to, and missed nowhere.
TEST(Expectations, OfFlakesHoldWhereExecutionsDisagree) {
  Expectation expected = rule(Status::value_diverges);
  expected.flake = true;
  Verdict seen = verdict(Status::value_diverges);
  EXPECT_EQ(standing(expected, seen), Standing::new_);
  seen.found.unstable = true;
  EXPECT_EQ(standing(expected, seen), Standing::known);
  EXPECT_EQ(standing(expected, verdict(Status::conform)), Standing::new_);
  Expectations rules({expected}, {"2.13.0", "avx2", {}, "2026-11-21"});
  Verdict conforms = verdict(Status::conform);
  rules.apply(conforms.facts, conforms.found, "bugs/1", conforms.account);
  ExpectationScope whole;
  whole.whole_suite = true;
  whole.paths = {"inductor"};
  whole.devices = {"cpu"};
  EXPECT_TRUE(rules.unmatched(whole).empty());
}

TEST(Expectations, CanBeAskedWithoutRemembering) {
  Expectations rules({rule(Status::crash)}, {"2.13.0", "avx2", {}, "2026-11-21"});
  Verdict asked = verdict(Status::crash);
  rules.tell(asked.facts, asked.found, "bugs/1", asked.account);
  EXPECT_EQ(asked.account.standing, Standing::known);
  ExpectationScope whole;
  whole.whole_suite = true;
  whole.paths = {"inductor"};
  whole.devices = {"cpu"};
  EXPECT_EQ(rules.unmatched(whole).size(), 1U);
}

TEST(Expectations, SayBeforehandWhatIsExpectedToFail) {
  const auto expects = [](Expectation expectation, const std::string& path, const char* torch) {
    Verdict judged = verdict(Status::conform, path);
    judged.facts.operators = {"aten::sum.dim_IntList"};
    return Expectations({std::move(expectation)}, {torch, "avx512", {}, "2026-11-21"})
        .expects_failure(judged.facts, "bugs/1");
  };
  const Expectation expected = rule(Status::internal_error);
  EXPECT_TRUE(expects(expected, "inductor", "2.13.0"));
  EXPECT_FALSE(expects(expected, "aoti", "2.13.0"));
  Expectation other = expected;
  other.torch = ">=2.14";
  EXPECT_FALSE(expects(other, "inductor", "2.13.0"));
  // These say what may differ, not that it does; but an error of its operator ends a program.
  other = expected;
  other.fingerprints = {"sum:value", "sum-gradient:eager-nan", "mean:AssertionError"};
  EXPECT_FALSE(expects(other, "inductor", "2.13.0"));
  for (const char* ends : {"sum:AssertionError", "su*:RuntimeError-what", "sum:crash-in-run"}) {
    other.fingerprints = {ends};
    EXPECT_TRUE(expects(other, "inductor", "2.13.0")) << ends;
  }
  other = expected;
  other.flake = true;
  EXPECT_FALSE(expects(other, "inductor", "2.13.0"));
}

TEST(Expectations, HoldOnlyUnderTheirConditions) {
  const auto with = [](auto change) {
    Expectation expected = rule(Status::value_diverges);
    change(expected);
    return standing(expected, verdict(Status::value_diverges));
  };
  EXPECT_EQ(with([](Expectation& e) { e.torch = ">=2.14"; }), Standing::new_);
  EXPECT_EQ(with([](Expectation& e) { e.torch = ">=2.13,<2.14"; }), Standing::known);
  EXPECT_EQ(with([](Expectation& e) { e.devices = {"cuda*"}; }), Standing::new_);
  EXPECT_EQ(with([](Expectation& e) { e.cpu_levels = {"avx2"}; }), Standing::new_);
  EXPECT_EQ(with([](Expectation& e) { e.cpu_levels = {"avx2", "avx512"}; }), Standing::known);
  EXPECT_EQ(with([](Expectation& e) { e.cpu_features = {"avx512_fp16"}; }), Standing::known);
  EXPECT_EQ(with([](Expectation& e) { e.cpu_features = {"!avx512_fp16"}; }), Standing::new_);
  EXPECT_EQ(with([](Expectation& e) {
              e.cpu_features = {"avx512_fp16", "!amx_bf16"};
            }),
            Standing::known);
  EXPECT_EQ(with([](Expectation& e) {
              e.cpu_features = {"avx512_fp16", "amx_bf16"};
            }),
            Standing::new_);
  EXPECT_EQ(with([](Expectation& e) { e.expires = "2026-11-20"; }), Standing::new_);
  EXPECT_EQ(with([](Expectation& e) { e.expires = "2026-11-21"; }), Standing::known);
  EXPECT_EQ(with([](Expectation& e) { e.waived = true; }), Standing::waived);
}

/// A verdict of an operator and its gradient that differ, with grades.
Verdict diverging(Grade forward, Grade gradient) {
  Verdict result = verdict(Status::value_diverges);
  result.facts.operators = {"aten::tan"};
  for (const auto& [name, grade] : {std::pair("y", forward), std::pair("grad x", gradient)}) {
    OutputComparison output;
    output.name = name;
    output.status = grade == Grade::bits ? Status::conform : Status::value_diverges;
    output.grade = grade;
    output.type = "float32[4]";
    output.classes.value = 1;
    if (output.status != Status::conform)
      result.found.differences.push_back({output.status, output.name, ""});
    result.found.outputs.push_back(std::move(output));
  }
  result.found.grade = std::max(forward, gradient);
  return result;
}

Expectation of_fingerprints(std::vector<std::string> fingerprints) {
  Expectation result =
      rule(Status::crash);  // a rule about fingerprints does not look at its status
  result.instances.clear();
  result.fingerprints = std::move(fingerprints);
  return result;
}

TEST(Expectations, CanBeAboutAFingerprintWhateverTheInstance) {
  EXPECT_EQ(standing(of_fingerprints({"tan:value"}), diverging(Grade::ulp4, Grade::bits)),
            Standing::known);
  EXPECT_EQ(standing(of_fingerprints({"tan:*"}), diverging(Grade::ulp4, Grade::bits)),
            Standing::known);
  EXPECT_EQ(standing(of_fingerprints({"tan:value"}), diverging(Grade::bits, Grade::ulp4)),
            Standing::new_);
  EXPECT_EQ(standing(of_fingerprints({"sin:value"}), diverging(Grade::ulp4, Grade::bits)),
            Standing::new_);
  // What conforms is not fixed: the fingerprint is not gone because one instance lacks it.
  EXPECT_EQ(standing(of_fingerprints({"tan:value"}), verdict(Status::conform)), Standing::new_);
  Expectation elsewhere = of_fingerprints({"tan:value"});
  elsewhere.instances = {"bugs/2*"};
  EXPECT_EQ(standing(elsewhere, diverging(Grade::ulp4, Grade::bits)), Standing::new_);
  EXPECT_EQ(standing(of_fingerprints({"tan:value"}), verdict(Status::crash)), Standing::new_);
}

TEST(Expectations, AnotherFindingBesideAKnownFingerprintIsNew) {
  const auto under = [](std::vector<Expectation> rules, Verdict judged) {
    Expectations(std::move(rules), {"2.13.0", "avx512", {}, "2026-11-21"})
        .apply(judged.facts, judged.found, "bugs/1", judged.account);
    return judged;
  };
  const Verdict both = diverging(Grade::ulp4, Grade::close);
  EXPECT_EQ(under({of_fingerprints({"tan:value"})}, both).account.standing, Standing::new_);
  EXPECT_EQ(under({of_fingerprints({"tan:value", "tan-gradient:value"})}, both).account.standing,
            Standing::known);
  // Two rules may know a part each; what is shown is about the first fingerprint.
  Expectation forward = of_fingerprints({"tan:value"}),
              gradient = of_fingerprints({"tan-gradient:value"});
  forward.where = "expected/known/a.json:7";
  gradient.waived = true;
  const Verdict known = under({gradient, forward}, both);
  EXPECT_EQ(known.account.standing, Standing::known);
  ASSERT_TRUE(known.account.expectation);
  EXPECT_EQ(known.account.expectation->file, "expected/known/a.json:7");
  EXPECT_EQ(known.account.expectation->status, Status::value_diverges);
  forward.waived = true;
  EXPECT_EQ(under({gradient, forward}, both).account.standing, Standing::waived);
  // Each fingerprint has a grade of its own.
  gradient.grade = Grade::close;
  forward.grade = Grade::ulp4;
  EXPECT_EQ(under({gradient, forward}, both).account.standing, Standing::waived);
  gradient.grade = Grade::ulp4;
  EXPECT_EQ(under({gradient, forward}, both).account.standing, Standing::new_);
  // A rule about the status knows whatever there is.
  EXPECT_EQ(under({gradient, rule(Status::value_diverges)}, both).account.standing,
            Standing::known);
}

TEST(Expectations, NameInstancesWithOrWithoutTheirDevice) {
  Verdict judged = verdict(Status::value_diverges);
  judged.facts.instance = "bugs/1[dim=0,as=row]@cpu";
  for (const auto& [glob, expected] :
       std::map<std::string, Standing>{{"bugs/1[*as=row]", Standing::known},
                                       {"bugs/1[*as=row]@cpu", Standing::known},
                                       {"bugs/1", Standing::known},
                                       {"bugs/1[*as=row]@cuda*", Standing::new_},
                                       {"bugs/1[*as=r]", Standing::new_}}) {
    Expectation named = rule(Status::value_diverges);
    named.instances = {glob};
    EXPECT_EQ(standing(named, judged), expected) << glob;
  }
}

TEST(Expectations, OfAFingerprintThatNoVerdictHasAreReportedWhereTheRunCanTell) {
  Expectation everywhere = of_fingerprints({"tan:value"}), here = everywhere;
  here.instances = {"bugs/1"};
  Expectations expectations({everywhere, here}, {"2.13.0", "avx512", {}, "2026-11-21"});
  ExpectationScope scope{false, {{"bugs/1", "bugs/1[dim=0]@cpu", true}}, {"inductor"}, {"cpu"}};
  Verdict conforms = verdict(Status::conform);
  expectations.apply(conforms.facts, conforms.found, "bugs/1", conforms.account);
  ASSERT_EQ(expectations.unmatched(scope).size(), 1U);
  EXPECT_EQ(expectations.unmatched(scope).front().text, "tan:value on inductor of bugs/1");
  scope.whole_suite = true;
  EXPECT_EQ(expectations.unmatched(scope).size(), 2U);
  Verdict diverges = diverging(Grade::ulp4, Grade::bits);
  expectations.apply(diverges.facts, diverges.found, "bugs/1", diverges.account);
  EXPECT_TRUE(expectations.unmatched(scope).empty());
}

TEST(Expectations, AWorseGradeIsNew) {
  Expectation expected = rule(Status::value_diverges);
  expected.grade = Grade::close;
  Verdict judged = verdict(Status::value_diverges);
  judged.found.grade = Grade::close;
  EXPECT_EQ(standing(expected, judged), Standing::known);
  judged.found.grade = Grade::none;
  EXPECT_EQ(standing(expected, judged), Standing::new_);
}

TEST(Expectations, ThatSpeakOfNothingAreReportedWhereTheRunCanTell) {
  Expectations expectations({rule(Status::value_diverges), rule(Status::crash)},
                            {"2.13.0", "avx512", {"avx2", "avx512_fp16"}, "2026-11-21"});
  ExpectationScope scope{true, {}, {"inductor"}, {"cpu"}};
  EXPECT_EQ(expectations.unmatched(scope).size(), 2U);
  scope.paths = {"eager"};  // the path of the rules was not run
  EXPECT_TRUE(expectations.unmatched(scope).empty());
  // A part of the suite can tell when it took all that the rule names.
  scope = {false,
           {{"bugs/1", "bugs/1[dim=0]@cpu", true},
            {"bugs/1", "bugs/1[dim=1]@cpu", true},
            {"bugs/2", "bugs/2@cpu", false}},
           {"inductor"},
           {"cpu"}};
  EXPECT_EQ(expectations.unmatched(scope).size(), 2U);
  scope.instances[1].ran = false;
  EXPECT_TRUE(expectations.unmatched(scope).empty());
  scope.instances.clear();
  EXPECT_TRUE(expectations.unmatched(scope).empty());
  scope.whole_suite = true;
  Verdict judged = verdict(Status::conform);
  expectations.apply(judged.facts, judged.found, "bugs/1", judged.account);
  EXPECT_TRUE(expectations.unmatched(scope).empty());
}

TEST(Expectations, ThatExpiredAreReportedWhetherOrNotTheDivergenceIsGone) {
  Expectation over = rule(Status::value_diverges);
  over.expires = "2026-11-20";
  const auto reported = [&](std::optional<Status> happened, const ExpectationScope& scope) {
    Expectations expectations({over}, {"2.13.0", "avx512", {"avx2", "avx512_fp16"}, "2026-11-21"});
    if (happened) {
      Verdict judged = verdict(*happened);
      expectations.apply(judged.facts, judged.found, "bugs/1", judged.account);
      EXPECT_EQ(judged.account.standing, Standing::new_);
    }
    const auto unmatched = expectations.unmatched(scope);
    return unmatched.empty() ? "" : unmatched[0].text;
  };
  const std::string expired = "bugs/1* on inductor: value_diverges: expired on 2026-11-20";
  EXPECT_EQ(reported(Status::value_diverges, {}), expired);
  EXPECT_EQ(reported(Status::conform, {}), expired + ", and gone");
  EXPECT_EQ(reported({}, {true, {}, {"inductor"}, {"cpu"}}), expired + ", and gone");
  EXPECT_EQ(reported({}, {true, {}, {"eager"}, {"cpu"}}), "");  // the run cannot tell
}

class ExpectationFiles : public testing::Test {
 public:
  ~ExpectationFiles() override { fs::remove_all(root_); }

 protected:
  ExpectationFiles()
      : root_(fs::path(testing::TempDir()) /
              ("lockstep_expectations_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "expected" / "known");
  }
  std::string faults(const std::string& rule_text) {
    EXPECT_TRUE(write_file(root_ / "expected" / "known" / "a.json",
                           "{\"format\": 2, \"known\": [" + rule_text + "]}"));
    Diagnostics diagnostics;
    read_expectations(root_, {}, {{"eager", "inductor"}, {"cpu", "cuda"}}, diagnostics);
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic) + "\n";
    return text;
  }
  fs::path root_;
};

TEST_F(ExpectationFiles, DemandWhatAReaderNeeds) {
  const std::string good =
      R"({"instances": ["a"], "paths": ["inductor"], "status": "crash", "because": "bug", "reason": "r", "link": "https://x", "date": "2026-11-21"})";
  EXPECT_EQ(faults(good), "");
  EXPECT_NE(
      faults(
          R"({"instances": ["a"], "paths": ["inductor"], "status": "crash", "because": "bug", "reason": "", "link": "https://x", "date": "2026-11-21"})")
          .find("without a reason"),
      std::string::npos);
  EXPECT_NE(
      faults(
          R"({"instances": ["a"], "paths": ["inductor"], "status": "crash", "because": "bug", "reason": "r", "date": "2026-11-21"})")
          .find("`link` is missing"),
      std::string::npos);
  EXPECT_EQ(
      faults(
          R"({"instances": ["a"], "paths": ["inductor"], "status": "crash", "because": "unreported", "reason": "r", "date": "2026-11-21"})"),
      "");
  EXPECT_NE(
      faults(
          R"({"instances": ["a"], "paths": ["inductor"], "status": "crash", "flake": true, "because": "unreported", "reason": "r", "date": "2026-11-21"})")
          .find("what happens now and then needs a link"),
      std::string::npos);
  const std::string misspelled = faults(
      R"({"instances": ["a"], "paths": [], "status": "crsh", "becuse": "bug", "reason": "r", "link": "x", "date": "21.11."})");
  for (const char* part : {"did you mean `crash`?", "did you mean `because`?", "at least one",
                           "https://", "a day such as"}) {
    EXPECT_NE(misspelled.find(part), std::string::npos) << part << "\n" << misspelled;
  }
}

TEST_F(ExpectationFiles, RefuseWhatSaysNothing) {
  const auto with = [&](const char* key, const Json& value) {
    Json good = {{"instances", {"a"}},  {"paths", {"inductor"}}, {"status", "crash"},
                 {"because", "bug"},    {"reason", "r"},         {"link", "https://x"},
                 {"date", "2026-11-21"}};
    good[key] = value;
    return faults(good.dump());
  };
  EXPECT_NE(with("example", "bugs/1@cpu/inductor").find("no example where there is a report"),
            std::string::npos);
  EXPECT_NE(with("example", "bugs/1@cpu/inductor").find("`searched` is missing"),
            std::string::npos);
  for (const char* blank : {" ", "\t\n"})
    EXPECT_NE(with("reason", blank).find("without a reason"), std::string::npos);
  EXPECT_EQ(with("reason", " r "), "");
  for (const char* status : {"conform", "unsupported"}) {
    EXPECT_NE(with("status", status).find("expected a status that says what is wrong"),
              std::string::npos);
  }
  for (const char* status : {"refused", "inconclusive", "extension", "harness"})
    EXPECT_EQ(with("status", status), "");
  for (const char* key : {"date", "expires"}) {
    for (const char* no_day :
         {"2026-02-31", "2027-02-29", "2026-00-10", "2026-13-01", "2026-04-31"})
      EXPECT_NE(with(key, no_day).find("a day such as"), std::string::npos) << no_day;
    EXPECT_EQ(with(key, "2028-02-29"), "");
  }
}

TEST_F(ExpectationFiles, RefuseNamesThatNothingHas) {
  const auto with = [&](const std::string& more) {
    return faults(R"({"instances": ["a"], "status": "crash", "because": "bug", "reason": "r", )"
                  R"("link": "https://x", "date": "2026-11-21", )" +
                  more + "}");
  };
  EXPECT_NE(with(R"("paths": ["inductor", "!inductr"])").find("did you mean `inductor`?"),
            std::string::npos);
  EXPECT_NE(with(R"("paths": ["mine"])").find("--path-file"), std::string::npos);
  EXPECT_NE(with(R"("paths": ["*"], "devices": ["cppu"])").find("did you mean `cpu`?"),
            std::string::npos);
  EXPECT_NE(with(R"("paths": ["*"], "cpu_levels": ["AVX512"])").find("known are default"),
            std::string::npos);
  EXPECT_NE(with(R"("paths": ["*"], "cpu_levels": ["avx_512"])").find("did you mean `avx512`?"),
            std::string::npos);
  EXPECT_NE(with(R"("paths": ["*"], "cpu_features": ["!avx512fp16"])")
                .find("did you mean `avx512_fp16`?"),
            std::string::npos);
  EXPECT_EQ(with(R"("paths": ["openvino*"], "devices": ["cuda:1", "!x*"], "cpu_levels": ["avx2"])"),
            "");
}

}  // namespace
}  // namespace lockstep
