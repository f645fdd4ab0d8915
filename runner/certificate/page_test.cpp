#include "certificate/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "certificate/fixtures.h"

namespace lockstep {
namespace {

using namespace fixtures;
using testing::HasSubstr;
using testing::Not;

Json statement() {
  const Submission submission = tiny_submission();
  return statement_of(submission, assess(submission));
}

TEST(ConformancePage, SaysWhatTheStatementSays) {
  const std::string page = conformance_page(statement(), "0123", "lockstep verify mine-tiny.tar");
  for (const char* part :
       {"<title>My compiler conforms to Lockstep tiny on cpu</title>", "2026-11-21",
        "torch 2.13.0+cpu", "<th scope=\"row\">mine</th><td>1.2</td>", "Some CPU",
        "<th scope=\"row\">conform</th><td class=\"number\">12</td>", "There is no kernel.",
        "a/declared@cpu/mine", "rtol 0.01, atol 0.001", "The unit rounds down.",
        "<a href=\"https://example.org/1\">", "<code>0123</code>", "lockstep verify mine-tiny.tar"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ConformancePage, WhatAStrangerWroteIsText) {
  Json hostile = statement();
  const std::string nasty = "</title><script>alert(1)</script>\" onload=\"x {{digest}}";
  hostile["path"]["title"] = hostile["level"] = hostile["device"] = hostile["torch"] = nasty;
  hostile["waivers"][0]["link"] = "javascript:alert(1)";
  hostile["waivers"][0]["reason"] = hostile["declarations"][0]["reason"] = nasty;
  hostile["machine"][nasty] = nasty;
  const std::string page = conformance_page(hostile, nasty, nasty);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"javascript")));
  pugi::xml_document svg;
  EXPECT_TRUE(svg.load_string(conformance_badge(hostile).c_str()));
}

TEST(ConformanceBadge, IsAnImageOfOneLine) {
  const std::string badge = conformance_badge(statement());
  pugi::xml_document svg;
  ASSERT_TRUE(svg.load_string(badge.c_str()));
  EXPECT_THAT(badge, HasSubstr("aria-label=\"Lockstep: tiny on cpu\""));
  EXPECT_THAT(badge, HasSubstr(">tiny on cpu</text>"));
}

TEST(ConformancePage, AndTheBadgeSayWhatIsDeclaredAndThatNothingWasExecuted) {
  Json made = statement();
  made["executes"] = "own";
  made["may_call"] = {"aten::topk"};
  made[kNotExecutedHere] = true;
  const std::string page = conformance_page(made, "0123", "lockstep verify mine-tiny.tar");
  EXPECT_THAT(page, HasSubstr("not executed here"));
  EXPECT_THAT(page, HasSubstr("aten::topk"));
  EXPECT_THAT(conformance_badge(made),
              HasSubstr(">tiny on cpu, may call aten::topk, not executed here</text>"));
}

}  // namespace
}  // namespace lockstep
