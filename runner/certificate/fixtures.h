#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "certificate/certificate.h"
#include "judge/fixtures.h"
#include "plan/plan.h"
#include "record/draw.h"

// For tests only: a small submission that is a certificate.

namespace lockstep::fixtures {

constexpr std::string_view kTinyRules = R"({"format": 1, "repeat": {"times": 3, "percent": 30},
 "floors": [{"levels": ["tiny"], "all": 60, "each": 20, "classes": {"sorting and scans": 0}}],
 "tolerances": [{"operators": ["mm"], "dtype": "float16", "rtol": 0.01, "atol": 0.001, "source": "a page"}]})";

constexpr std::string_view kTinyPath =
    R"({"format": 2, "name": "mine", "title": "My compiler", "contract": "values", "worker": ["mine"],
 "devices": ["*"], "unsupported": [{"operators": ["sort"], "reason": "There is no kernel."}],
 "tolerances": [{"operators": ["mm"], "dtypes": ["float16"], "rtol": 0.01, "atol": 0.001, "reason": "It adds in halves."}]})";

constexpr std::string_view kTinyWaivers = R"({"format": 2, "known": [
 {"instances": ["a/waived"], "paths": ["mine"], "devices": ["cpu"], "environment": {"cpu": "Some*"}, "status": "value_diverges",
  "waived": true, "because": "bug", "reason": "The unit rounds down.", "link": "https://example.org/1", "date": "2026-11-20"}]})";

inline JsonFile json_file(const std::string& name, std::string_view text) {
  JsonFile file{name, std::string(text), {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << name << ": " << text;
  return file;
}

/// A verdict as a run has it, of what the judge says of an output.
inline Verdict named(Verdict verdict, const std::string& instance, const std::string& op) {
  verdict.facts.instance = instance + "@cpu";
  verdict.facts.path = "mine";
  verdict.facts.id = verdict.facts.instance + "/mine";
  verdict.facts.device = "cpu";
  verdict.facts.operators = {op};
  verdict.facts.dtypes = {"float32"};
  verdict.origin.seconds = 0.25;
  if (verdict.found.status == Status::conform) verdict.found.execution = Witness::observed;
  return verdict;
}

inline Verdict of_numbers(const std::vector<double>& eager, const std::vector<double>& compiled) {
  return as_verdict(judge_under(returned(tensor("float32", eager)),
                                returned(tensor("float32", compiled)), "any_of(close, no_worse)"));
}

inline Verdict declared_unsupported() {
  Verdict verdict;
  verdict.found.status = Status::unsupported;
  verdict.found.unsupported_by = UnsupportedBy::declaration;
  verdict.found.reason = declared_reason("There is no kernel.");
  return verdict;
}

/// Says again what hangs on the verdicts: their places and the plan.
inline void renumber(RunRecord& run) {
  std::vector<std::string_view> ids;
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    run.verdicts[i].facts.index = i;
    ids.push_back(run.verdicts[i].facts.id);
  }
  run.info.planned = run.verdicts.size();
  run.info.plan = digest_of(ids);
}

inline SuiteAtHand tiny_suite() {
  SuiteAtHand suite;
  suite.rules = kTinyRules;
  suite.judge = "0123";
  suite.is_meant = [](const std::string& instance, const std::string&, const std::string&) {
    return instance != "a/elsewhere";
  };
  suite.level = [](const std::string& name) {
    Json level = {{"format", 1}, {"title", "A tiny level"}, {"instances", Json::object()}};
    for (int i = 0; i < 12; ++i) level["instances"][fmt::format("a/{}[x={}]", i / 2, i)] = "00ff";
    for (const char* id : {"a/waived", "a/declared", "a/lacking", "a/elsewhere"})
      level["instances"][id] = "00ff";
    return name == "tiny" ? level.dump(1) : std::string();
  };
  return suite;
}

inline Submission tiny_submission() {
  Submission submission;
  submission.level_name = "tiny";
  submission.level_file = json_file("level.json", tiny_suite().level("tiny"));
  submission.path_file = json_file("path.json", kTinyPath);
  submission.rules_file = json_file("certification.json", kTinyRules);
  submission.waiver_files = {json_file("waivers/0.json", kTinyWaivers)};
  Diagnostics diagnostics;
  decode_files(submission, {}, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << (diagnostics.empty() ? "" : to_string(diagnostics.front()));

  note_meant(submission, "cpu", tiny_suite());
  RunRecord& run = submission.run;
  run.info.version = "0.1.0";
  run.info.started = "2026-11-21T10:00:00Z";
  run.info.arguments = {"run", "--level", "tiny"};
  run.info.level = "tiny";
  run.info.digests = {{"judge", "0123"}};
  run.info.paths = {{"mine", "My compiler", "values",
                     Digest().add(submission.path.declared.dump()).hex(),
                     submission.path.declared}};
  run.info.devices = {"cpu"};
  run.environment = {{"machine", {{"cpu", "Some CPU"}, {"cores", 2}}},
                     {"eager", {{"torch", "2.13.0+cpu"}, {"cpu_capability", "AVX2"}}},
                     {"mine", {{"package mine", "1.2"}}}};
  run.info.repeated_part = RepeatedPart{
      3, 30,
      seed_by_packages(repeated_by(submission.path_file, submission.level_file), run.environment)};
  for (int i = 0; i < 12; ++i) {
    const double off = i % 3 == 0 ? 1e-7 : 0;
    run.verdicts.push_back(named(of_numbers({1, 2, 4}, {1, 2, 4 + off}),
                                 fmt::format("a/{}[x={}]", i / 2, i),
                                 i % 2 ? "aten::mm" : "aten::sin"));
  }
  run.verdicts.push_back(named(of_numbers({1, 2, 4}, {1, 2, 5}), "a/waived", "aten::sin"));
  run.verdicts.back().found.outputs.front().tensors = {"tensors/waived.y.eager.npy"};
  run.verdicts.push_back(named(declared_unsupported(), "a/declared", "aten::sort"));
  Verdict lacking = declared_unsupported();
  lacking.found.unsupported_by = UnsupportedBy::torch;
  lacking.found.reason = "torch 2.13.0 lacks aten::new";
  run.verdicts.push_back(named(lacking, "a/lacking", "aten::new"));
  renumber(run);
  for (Verdict& verdict : run.verdicts) {
    if (verdict.found.status != Status::unsupported &&
        is_drawn(run.info.repeated_part->seed, 30, verdict.facts.id))
      verdict.found.executions = {{verdict.found.status, 3}};
  }
  Expectations expectations(
      submission.waivers,
      {"2.13.0+cpu", "avx2", {}, "2026-11-21", {}, facts_of(run.environment["machine"], {})});
  for (Verdict& verdict : run.verdicts)
    expectations.apply(verdict.facts, verdict.found,
                       verdict.facts.instance.substr(0, verdict.facts.instance.find_first_of("[@")),
                       verdict.account);
  run.end = RunEnd{12.5, false, {}};
  submission.tensors = {{"tensors/waived.y.eager.npy", "the bytes of a tensor"}};

  RunRecord& declared = submission.declared.emplace();
  declared.info = run.info;
  declared.info.repeated_part.reset();
  declared.environment = run.environment;
  declared.verdicts = {named(of_numbers({1, 2}, {1, 2}), "a/declared", "aten::sort")};
  renumber(declared);
  declared.end = RunEnd{1, false, {}};
  return submission;
}

}  // namespace lockstep::fixtures
