#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "verdict/fingerprint.h"

// The names that fingerprints must have: verdicts of faults that others diagnosed in public, as
// runs on torch 2.13.0 and 2.15.0 found them, with the report and the reason that explains each.

namespace lockstep {
namespace {

using testing::Contains;

Json faults() {
  const auto text =
      read_file(std::string(LOCKSTEP_SOURCE_DIR) + "/runner/verdict/testdata/faults.json");
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  return text ? Json::parse(*text) : Json();
}

TEST(Faults, AreManyOnSeveralPathsAndReleases) {
  std::set<std::string> links, paths, releases, statuses;
  std::size_t verdicts = 0;
  for (const Json& fault : faults()) {
    links.insert(fault["link"]);
    for (const Json& verdict : fault["verdicts"]) {
      ++verdicts;
      paths.insert(verdict["path"]);
      releases.insert(verdict["torch"]);
      statuses.insert(verdict["status"]);
    }
  }
  EXPECT_GE(links.size(), 25U);
  EXPECT_GE(verdicts, 60U);
  EXPECT_GE(paths.size(), 5U);
  EXPECT_GE(releases.size(), 2U);
  EXPECT_GE(statuses.size(), 8U);
}

TEST(Faults, HaveOneFingerprintWhateverDtypePathAndRelease) {
  for (const Json& fault : faults()) {
    const std::string what = fmt::format("{}: {}", fault["link"].get<std::string>(),
                                         fault["diagnosis"].get<std::string>());
    const auto fingerprints = fault["fingerprints"].get<std::vector<std::string>>();
    std::set<std::string> found;
    for (const Json& json : fault["verdicts"]) {
      const auto verdict = verdict_from_json(json);
      ASSERT_TRUE(verdict) << what << ": " << verdict.error().message;
      const std::vector<Fingerprint> all = fingerprints_of(*verdict);
      ASSERT_FALSE(all.empty()) << what;
      EXPECT_THAT(fingerprints, Contains(all.front().name)) << what << ", " << verdict->facts.id;
      found.insert(all.front().name);
    }
    EXPECT_EQ(found.size(), fingerprints.size()) << what;
    // One that has several says why it cannot have one.
    EXPECT_EQ(fingerprints.size() > 1, !fault.value("why_several", "").empty()) << what;
  }
}

TEST(Faults, ThatAreNotTheSameShareNoFingerprint) {
  std::map<std::string, std::string> owners;
  for (const Json& fault : faults()) {
    for (const Json& fingerprint : fault["fingerprints"]) {
      const auto [owner, is_new] =
          owners.emplace(fingerprint.get<std::string>(), fault["diagnosis"]);
      EXPECT_TRUE(is_new) << fingerprint << " is of " << owner->second << " and of "
                          << fault["diagnosis"];
    }
  }
}

}  // namespace
}  // namespace lockstep
