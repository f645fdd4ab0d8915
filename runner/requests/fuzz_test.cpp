#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/fixtures.h"
#include "base/fuzzing.h"
#include "base/gzip.h"
#include "certificate/archive.h"
#include "certificate/fixtures.h"
#include "certificate/rules.h"
#include "expectations/expectations.h"
#include "explain/knobs.h"
#include "paths/path.h"
#include "plan/level.h"
#include "record/gate.h"

namespace lockstep {
namespace {

/// A kind of files, one that is right, and how it is read.
struct Kind {
  const char* what;
  std::string text;
  std::function<void(const JsonFile&, Diagnostics&)> decode;
};

std::vector<Kind> kinds() {
  return {
      {"level",
       R"({"format": 1, "title": "t", "select": ["bugs/*", "path:a"], "fills": {"arange": "0f"},
           "instances": {"bugs/1": "0123", "sweeps/x[op=add]": "4567"}})",
       [](const JsonFile& file, Diagnostics& wrong) { decode_level(file, wrong); }},
      {"expectations",
       R"({"format": 2, "known": [{"instances": ["bugs/*"], "paths": ["a*"], "devices": ["cpu"],
           "torch": ">=2.13", "status": "value_diverges", "grade": "close", "because": "bug",
           "reason": "r", "link": "https://example.org/1", "date": "2026-11-21",
           "expires": "2027-11-21", "environment": {"cpu": "*x*"}, "cpu_features": ["!avx2"]}]})",
       [](const JsonFile& file, Diagnostics& wrong) {
         const std::vector<Expectation> rules = decode_expectations(file, {}, wrong);
         for (const Expectation& rule : rules) EXPECT_EQ(rule.where.find("f.json:"), 0u);
       }},
      {"allowances",
       R"({"format": 1, "allow": [{"transition": "gone", "ids": ["bugs/*"], "reason": "r"}]})",
       [](const JsonFile& file, Diagnostics& wrong) { decode_allowances(file, wrong); }},
      {"path", read_source("runner/paths/inductor.json"),
       [](const JsonFile& file, Diagnostics& wrong) { decode_path(file, wrong); }},
      {"declarations",
       R"({"format": 2, "name": "mine", "title": "t", "contract": "values", "worker": "compiled",
           "backend": "mine", "executes": ["mine.*"], "may_call": ["aten::empty*"],
           "unsupported": [{"operators": ["sort*"], "dtypes": ["float16"], "reason": "r"}],
           "tolerances": [{"operators": ["mm"], "dtypes": ["float16"], "rtol": 0.01, "atol": 0.001,
                           "reason": "r"}],
           "refuses": [{"error": "NotImplementedError", "match": "no rule.*", "reason": "r"}]})",
       [](const JsonFile& file, Diagnostics& wrong) { decode_path(file, wrong); }},
      {"rules", read_source("expected/certification.json"),
       [](const JsonFile& file, Diagnostics& wrong) { decode_rules(file, wrong); }},
      {"knobs", read_source("runner/explain/knobs.json"),
       [](const JsonFile& file, Diagnostics& wrong) { decode_knobs(file, wrong); }},
  };
}

/// Whatever a file of a suite has: it is read, or what is wrong is said in few words.
TEST(Fuzz, EveryFileOfASuiteIsReadOrItsErrorsAreTold) {
  const std::vector<Kind> all = kinds();
  const auto [begin, count] = fuzz::stint();
  for (const Kind& kind : all) {
    JsonFile file{"f.json", kind.text, {}};
    Diagnostics wrong;
    parse_json(file, wrong);
    kind.decode(file, wrong);
    EXPECT_NE(file.root.size(), 0u) << kind.what;
  }
  fuzz::Stopwatch watch;
  std::size_t read = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    const Kind& kind = random.one_of(all);
    SCOPED_TRACE(fmt::format("{} {}", kind.what, seed));
    JsonFile file{"f.json", fuzz::changed_json(kind.text, random), {}};
    Diagnostics wrong;
    watch.time(seed, [&] {
      parse_json(file, wrong);
      if (wrong.empty()) kind.decode(file, wrong);
    });
    read += wrong.empty();
    for (const Diagnostic& each : wrong) ASSERT_LT(to_string(each).size(), 4000u) << file.text;
    ASSERT_LT(wrong.size(), 500u);
  }
  std::printf("%zu read\n", read);
  watch.print("file of a suite");
  if (count >= 1000) {
    EXPECT_GT(read, count / 20) << "the fuzzer tests the first checks only";
  }
}

/// Whatever is in an archive whose digests are right: it is refused with a reason, or nothing of
/// what it certifies is another.
TEST(Fuzz, EveryCertificateIsRefusedOrRight) {
  using namespace fixtures;
  const auto archive = make_certificate(tiny_submission());
  ASSERT_TRUE(archive);
  const ArchiveFiles files = *read_archive(*archive);
  const SuiteAtHand suite = tiny_suite();
  const auto [begin, count] = fuzz::stint();
  fuzz::Stopwatch watch;
  std::size_t passed = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    SCOPED_TRACE(seed);
    ArchiveFiles changed = files;
    auto file = changed.begin();
    std::advance(file, random.below(changed.size()));
    const bool packed = file->first.ends_with(".gz");
    if (!packed) {
      file->second = fuzz::changed_json(file->second, random);
    } else if (random.often(1)) {
      file->second = fuzz::changed_bytes(file->second, random);
    } else {
      std::string text = *gunzip(file->second, 1 << 24);
      std::size_t at = 0;
      for (std::size_t i = random.below(10); i > 0; --i) at = text.find('\n', at) + 1;
      const std::size_t end = std::min(text.find('\n', at), text.size());
      text.replace(at, end - at, fuzz::changed_json(text.substr(at, end - at), random));
      file->second = gzip(text);
    }
    const auto bytes = write_archive(changed);
    ASSERT_TRUE(bytes);
    watch.time(seed, [&] {
      const auto checked = check_certificate(*bytes, suite);
      passed += checked.has_value();
      if (!checked) {
        ASSERT_FALSE(checked.error().empty());
      }
    });
  }
  std::printf("%zu passed\n", passed);
  watch.print("certificate");
}

}  // namespace
}  // namespace lockstep
