#include "run/verdict_cache.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "engine/scratch.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

Verdict conforming() {
  Verdict verdict;
  verdict.facts.id = "a@cpu/inductor";
  verdict.facts.instance = "a@cpu";
  verdict.facts.path = "inductor";
  verdict.found.grade = Grade::bits;
  OutputComparison& output = verdict.found.outputs.emplace_back();
  output.name = "y";
  output.policy = "bits";
  output.grade = Grade::bits;
  output.elements = 4;
  verdict.origin.seconds = 3;
  verdict.account.standing = Standing::fixed;
  return verdict;
}

class VerdictCaches : public testing::Test {
 protected:
  VerdictCaches() : scratch_(std::move(*Scratch::create())), folder_(scratch_.path() / "kept") {}
  VerdictCache open(const std::string& setting = "s") {
    auto cache = VerdictCache::open(folder_, setting);
    EXPECT_TRUE(cache);
    return std::move(*cache);
  }
  Scratch scratch_;
  fs::path folder_;
};

TEST_F(VerdictCaches, GiveBackWhatWasKept) {
  EXPECT_FALSE(open().take("k"));
  ASSERT_TRUE(open().keep("k", conforming(), "2026-11-21T10:00:00Z"));
  VerdictCache cache = open();
  const auto found = cache.take("k");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->facts.id, "a@cpu/inductor");
  EXPECT_EQ(found->origin.reused, "2026-11-21T10:00:00Z");
  EXPECT_EQ(found->account.standing, Standing::new_);  // expectations are asked anew
  EXPECT_EQ(found->origin.seconds, 0);
  EXPECT_FALSE(cache.take("other"));
  EXPECT_FALSE(open("another-torch").take("k"));
}

TEST_F(VerdictCaches, TakeTheLastAndNoHalfLine) {
  ASSERT_TRUE(open().keep("k", conforming(), "2026-11-21T10:00:00Z"));
  Verdict later = conforming();
  later.found.reason = "later";
  ASSERT_TRUE(open().keep("k", later, "2026-11-22T10:00:00Z"));
  const fs::path file = folder_ / "s.jsonl";
  std::string text = *read_file(file);
  ASSERT_TRUE(write_file(file, text + text.substr(0, text.size() / 4)));
  EXPECT_EQ(open().take("k")->found.reason, "later");
  // Nor one that somebody has written anew in part.
  const std::size_t place = text.rfind("\"conform\"");
  ASSERT_TRUE(write_file(file, text.replace(place, 9, "\"crash\"")));
  EXPECT_EQ(open().take("k")->found.reason, "");
}

TEST_F(VerdictCaches, SayOnceThatNothingCanBeWritten) {
  VerdictCache cache = open();
  fs::create_directory(folder_ / "s.jsonl");  // where the file is to be
  const auto kept = cache.keep("k", conforming(), "2026-11-21T10:00:00Z");
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find("s.jsonl"), std::string::npos);
  EXPECT_TRUE(cache.keep("k", conforming(), "2026-11-21T10:00:00Z"));
}

TEST_F(VerdictCaches, KeepNothingThatMayBeOtherwiseTheNextTime) {
  EXPECT_TRUE(VerdictCache::worth_keeping(conforming()));
  const auto is_kept = [](auto change) {
    Verdict verdict = conforming();
    change(verdict);
    return VerdictCache::worth_keeping(verdict);
  };
  EXPECT_TRUE(is_kept([](Verdict& v) { v.found.status = Status::value_diverges; }));
  for (const Status status : {Status::crash, Status::timeout, Status::oom, Status::worker_lost,
                              Status::harness, Status::inconclusive})
    EXPECT_FALSE(is_kept([&](Verdict& v) { v.found.status = status; })) << info(status).name;
  EXPECT_FALSE(is_kept([](Verdict& v) { v.found.unstable = true; }));
  EXPECT_FALSE(is_kept([](Verdict& v) { v.origin.reused = "2026-11-21T10:00:00Z"; }));
}

}  // namespace
}  // namespace lockstep
