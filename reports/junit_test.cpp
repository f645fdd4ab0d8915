#include "reports/junit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <pugixml.hpp>
#include <set>

#include "record/judged.h"
#include "reports/ctrf.h"
#include "reports/fixtures.h"

namespace lockstep {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

pugi::xml_document read_back(const std::string& xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size());
  EXPECT_TRUE(result) << result.description();
  return document;
}

pugi::xml_node find_case(const pugi::xml_document& document, const std::string& begin) {
  return document.find_node([&](const pugi::xml_node& node) {
    return std::string_view(node.name()) == "testcase" &&
           std::string_view(node.attribute("name").value()).starts_with(begin) &&
           std::string_view(node.parent().attribute("name").value()) == "inductor";
  });
}

TEST(Junit, EveryStatusIsToldByItsElement) {
  RunRecord record = sample_run();
  const pugi::xml_document document = read_back(junit(record, false));
  std::size_t cases = 0;
  for (const pugi::xml_node suite : document.child("testsuites").children("testsuite")) {
    for (const pugi::xml_node test : suite.children("testcase")) {
      ++cases;
      EXPECT_TRUE(test.child("system-out"));
      EXPECT_LE(std::distance(test.begin(), test.end()), 2) << test.attribute("name").value();
    }
  }
  EXPECT_EQ(cases, record.verdicts.size());
  EXPECT_TRUE(find_case(document, "ops/softmax").child("failure"));
  EXPECT_TRUE(find_case(document, "bugs/170004").child("error"));
  EXPECT_TRUE(find_case(document, "ops/nonzero").child("skipped"));
}

TEST(Junit, EveryVerdictSaysItsFacts) {
  const pugi::xml_document document = read_back(junit(sample_run(), false));
  const std::string differs = find_case(document, "ops/softmax").child("system-out").text().get();
  EXPECT_THAT(differs,
              HasSubstr("[[PROPERTY|id=ops/softmax/last-dim[dtype=bfloat16]@cpu/inductor]]\n"));
  EXPECT_THAT(differs, HasSubstr("[[PROPERTY|status=value_diverges]]\n"));
  EXPECT_THAT(differs, HasSubstr("[[PROPERTY|fingerprint=to:value]]\n"));
  EXPECT_THAT(differs, HasSubstr("[[PROPERTY|file=cases/ops/softmax/last-dim.json:14]]\n"));
  const RunRecord record = sample_run();
  for (const Verdict& verdict : record.verdicts) {
    for (const auto& [name, value] : facts_of(verdict)) EXPECT_FALSE(value.empty()) << name;
  }
}

TEST(Junit, KeptTensorsAreAttached) {
  RunRecord record = sample_run();
  record.info.directory = "/ci/project";
  record.directory = "/ci/project/out";
  for (Verdict& verdict : record.verdicts) {
    if (verdict.found.outputs.empty()) verdict.found.outputs.emplace_back();
    verdict.found.outputs.front().tensors = {"tensors/a b/y.eager.npy"};
  }
  EXPECT_THAT(junit(record, false), HasSubstr("[[ATTACHMENT|out/tensors/a b/y.eager.npy]]"));
  record.info.directory = "/elsewhere";
  EXPECT_THAT(junit(record, false),
              HasSubstr("[[ATTACHMENT|/ci/project/out/tensors/a b/y.eager.npy]]"));
  for (Verdict& verdict : record.verdicts) verdict.found.outputs.clear();
  EXPECT_EQ(junit(record, false).find("[[ATTACHMENT"), std::string::npos);
}

/// Both formats, for what they have in common.
using Write = std::string (*)(const RunRecord&, bool, std::size_t);

/// `count` crashes that wrote so many bytes to standard error, and as many that conform.
RunRecord many(std::size_t count, std::size_t bytes) {
  RunRecord record = sample_run();
  Verdict crash, conform;
  crash.found.status = Status::crash;
  crash.found.reason = "ended by signal 11";
  crash.origin.stderr_tail = std::string(bytes, '&');
  conform.facts.dtypes = {"float32"};
  record.verdicts.clear();
  for (std::size_t i = 0; i < count; ++i) {
    for (Verdict verdict : {crash, conform}) {
      verdict.facts.path = "inductor";
      verdict.facts.device = "cpu";
      verdict.facts.instance =
          fmt::format("bugs/{}-{}@cpu", info(verdict.found.status).name, 1'000'000 + i);
      verdict.facts.id = verdict.facts.instance + "/inductor";
      record.verdicts.push_back(std::move(verdict));
    }
  }
  record.info.planned = record.verdicts.size();
  return record;
}

TEST(Junit, NoRunMakesItTooLong) {
  for (const Write write : {Write(junit), Write(ctrf)}) {
    // Of what explains there is less; no verdict is left out.
    const RunRecord wordy = many(20, 20'000);
    EXPECT_GT(write(wordy, false, kReportLimit).size(), 90'000U);
    const std::string cut = write(wordy, false, 60'000);
    EXPECT_LE(cut.size(), 60'000U);
    EXPECT_THAT(cut, HasSubstr("report.html has all of it"));
    for (const Verdict& verdict : wordy.verdicts)
      EXPECT_THAT(cut, HasSubstr(verdict.facts.instance));
    EXPECT_THAT(cut, Not(HasSubstr("left_out")));
    // Where there is not even room for the names, what fails goes first.
    const RunRecord huge = many(500, 0);
    const std::string least = write(huge, false, 60'000);
    EXPECT_LE(least.size(), 60'000U);
    EXPECT_THAT(least, HasSubstr("left_out"));
    const auto told = [&](std::string_view status) {
      return std::count_if(huge.verdicts.begin(), huge.verdicts.end(), [&](const Verdict& verdict) {
        return info(verdict.found.status).name == status &&
               least.find(verdict.facts.instance) != std::string::npos;
      });
    };
    EXPECT_GT(told("crash"), told("conform"));
  }
}

TEST(Junit, AFailureTellsEverythingInItsText) {
  const pugi::xml_document document = read_back(junit(sample_run(), false));
  const pugi::xml_node test = find_case(document, "ops/softmax/last-dim[dtype=bfloat16]@cpu");
  EXPECT_STREQ(test.attribute("classname").value(), "lockstep.inductor.ops.softmax.last-dim");
  const pugi::xml_node failure = test.child("failure");
  EXPECT_STREQ(failure.attribute("type").value(), "value_diverges");
  const std::string text = failure.text().get();
  EXPECT_THAT(text, HasSubstr("611 of 4,096"));
  EXPECT_THAT(text, HasSubstr("eager is nearer"));
  EXPECT_THAT(text,
              EndsWith("lockstep run 'ops/softmax/last-dim[dtype=bfloat16]@cpu' --path inductor"));
}

TEST(Junit, KnownIsSkippedWithItsReasonAndFixedPassesUnlessStrict) {
  const pugi::xml_document document = read_back(junit(sample_run(), false));
  const pugi::xml_node known = find_case(document, "bugs/185337").child("skipped");
  EXPECT_THAT(known.attribute("message").value(), StartsWith("known: "));
  EXPECT_THAT(known.attribute("message").value(), HasSubstr("(intended): Inductor's default"));
  EXPECT_THAT(known.text().get(), HasSubstr("https://github.com/pytorch/pytorch/issues/185337"));
  EXPECT_THAT(find_case(document, "bugs/160000").child("system-out").text().get(),
              HasSubstr("remove expected/known/inductor.json:30"));

  const pugi::xml_document strict = read_back(junit(sample_run(), true));
  EXPECT_STREQ(find_case(strict, "bugs/160000").child("failure").attribute("type").value(),
               "fixed");
  EXPECT_TRUE(find_case(strict, "bugs/185337").child("skipped"));
  EXPECT_TRUE(find_case(strict, "ops/cumsum").child("failure"));
}

TEST(Junit, HostileTextStaysText) {
  const std::string xml = junit(hostile_run(), false);
  const pugi::xml_document document = read_back(xml);
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
  EXPECT_EQ(xml.find_first_of(std::string("\x01\x02\x1b\x7f\r\0", 6)), std::string::npos);
  std::set<std::string> names;
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  for (const pugi::xml_node test : suite.children("testcase")) {
    EXPECT_TRUE(names.insert(test.attribute("name").value()).second);
    EXPECT_THAT(test.first_child().text().get(), HasSubstr("bytes left out"));
  }
  EXPECT_EQ(names.size(), 3u);
  EXPECT_LT(xml.size(), 200'000u);
}

TEST(Junit, HalfARunIsAnError) {
  RunRecord record = sample_run();
  record.info.planned = 100;
  const pugi::xml_document document = read_back(junit(record, false));
  const pugi::xml_node last = document.child("testsuites").last_child();
  EXPECT_STREQ(last.attribute("name").value(), "run");
  EXPECT_STREQ(last.child("testcase").child("error").attribute("message").value(),
               "the run was stopped after 26 of 100 verdicts");
}

TEST(Junit, ARunThatJudgedTooLittleIsAnError) {
  RunRecord record = sample_run();
  EXPECT_EQ(junit(record, false).find("lockstep.run"), std::string::npos);
  record.info.min_judged = 99;
  const pugi::xml_document document = read_back(junit(record, false));
  const pugi::xml_node last = document.child("testsuites").last_child();
  EXPECT_STREQ(last.child("testcase").attribute("name").value(), "judged");
  EXPECT_EQ(last.child("testcase").child("error").attribute("message").value(),
            judged_too_little(record, false));
}

TEST(Junit, TheSumsAreRight) {
  RunRecord record = sample_run();
  record.info.planned = 100;
  record.info.min_judged = 99;
  const pugi::xml_document document = read_back(junit(record, false));
  for (const char* key : {"tests", "failures", "errors"}) {
    int sum = 0;
    for (const pugi::xml_node suite : document.child("testsuites").children("testsuite")) {
      sum += suite.attribute(key).as_int();
    }
    EXPECT_EQ(document.child("testsuites").attribute(key).as_int(), sum) << key;
  }
}

}  // namespace
}  // namespace lockstep
