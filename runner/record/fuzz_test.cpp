#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/fuzzing.h"
#include "judge/fixtures.h"
#include "record/log.h"
#include "record/tally.h"

namespace lockstep {
namespace {

/// The lines of a log with all kinds of records.
std::vector<std::string> log_lines() {
  RunInfo info;
  info.version = "0.1.0";
  info.started = "2026-11-21T10:00:00Z";
  info.planned = 3;
  info.paths = {{"inductor", "Inductor", "values"}};
  info.devices = {"cpu"};
  std::vector<std::string> lines = {to_json(info).dump()};
  lines.push_back(
      R"({"type": "environment", "name": "eager", "values": {"torch": "2.13.0", "cores": 2}})");
  const fixtures::Tensor one = fixtures::tensor("float32", {1, 2, 3, 4});
  const fixtures::Tensor other = fixtures::tensor("float32", {1, 2, 3, NAN});
  const std::vector<Findings> all = {
      fixtures::judge_under(fixtures::returned(DataValue(one)),
                            fixtures::returned(DataValue(other)), "bits"),
      fixtures::judge_under(fixtures::returned(DataValue(one)), fixtures::returned(DataValue(one)),
                            "bits"),
      fixtures::judge_under(fixtures::returned(DataValue(one)),
                            fixtures::raised("ValueError", "no"), "close")};
  for (std::size_t i = 0; i < all.size(); ++i) {
    Verdict verdict = fixtures::as_verdict(all[i]);
    verdict.facts.index = i;
    verdict.facts.instance = "bugs/one@cpu";
    verdict.facts.path = "inductor";
    verdict.facts.id = verdict.facts.instance + "/inductor" + std::to_string(i);
    Json json = {{"type", "verdict"}};
    json.update(to_json(verdict));
    lines.push_back(json.dump());
  }
  RunEnd end{.seconds = 1.5, .interrupted = false, .unmatched = {{"known.json:1", "x"}}};
  lines.push_back(to_json(end).dump());
  return lines;
}

/// Whatever a log holds: an error that names its line, or a record that can be written again.
TEST(Fuzz, EveryLogGivesAnErrorOrARecord) {
  const std::vector<std::string> lines = log_lines();
  const auto [begin, count] = fuzz::stint();
  fuzz::Stopwatch watch;
  std::size_t records = 0, refused = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    std::string text;
    const std::size_t changed = random.below(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += (i == changed ? fuzz::changed_json(lines[i], random) : lines[i]) + "\n";
    if (random.often(1)) text.resize(random.below(text.size()));  // torn
    SCOPED_TRACE(seed);
    watch.time(seed, [&] {
      const auto record = parse_log(text, "log");
      ++(record ? records : refused);
      if (!record) {
        ASSERT_EQ(record.error().message.substr(0, 4), "log:") << text;
        ASSERT_LT(record.error().message.size(), 2000U) << text;
        return;
      }
      for (const Verdict& verdict : record->verdicts)
        ASSERT_TRUE(verdict_from_json(to_json(verdict))) << text;
      static_cast<void>(tally(*record, true));
    });
    if (HasFatalFailure()) return;
  }
  std::printf("%zu records, %zu refused\n", records, refused);
  watch.print("log");
  if (count < 1000) return;
  EXPECT_GT(records, count / 5) << "little is read: the fuzzer tests the first checks only";
  EXPECT_GT(refused, count / 5);
}

/// A log of which one record is there many times, each with another name, or has much more of
/// something: an error that names its line, or a record.  Each is read in a part of the file.
TEST(Fuzz, EveryGrownLogGivesAnErrorOrARecord) {
  const std::vector<std::string> lines = log_lines();
  const auto [begin, all] = fuzz::stint();
  const std::uint64_t count = 1 + all / 100;  // each takes as much as a hundred others
  fuzz::Stopwatch watch;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    const std::size_t grown = random.below(lines.size());
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Json original = Json::parse(lines[i]);
      const std::size_t times = i == grown ? 1 + random.below(500) : 1;
      for (std::size_t k = 0; k < times; ++k) {
        Json record = original;
        for (const char* key : {"id", "name"}) {
          if (record.contains(key) && times > 1)
            record[key] = fmt::format("{}{}", record[key].get<std::string>(), k);
        }
        if (times > 1 && random.often(1)) {
          std::vector<Json*> values;
          fuzz::values_of(record, values);
          Json& value = *random.one_of(values);
          const Json before = value;
          for (std::size_t more = random.below(200); more > 0 && value.is_array(); --more)
            value.push_back(before.empty() ? Json() : before[0]);
          for (std::size_t more = random.below(200); more > 0 && value.is_object(); --more)
            value[std::to_string(more)] = before.empty() ? Json() : before.front();
          if (value.is_string()) value = before.get<std::string>() + std::string(5000, 'x');
        }
        text += record.dump() + "\n";
      }
    }
    SCOPED_TRACE(seed);
    watch.time(seed, [&] {
      LineReader read(
          [rest = std::string_view(text), &random]() mutable -> Result<std::string_view> {
            const std::string_view piece = rest.substr(0, 1 + random.below(10'000));
            rest.remove_prefix(piece.size());
            return piece;
          },
          kLogLimits.line);
      const auto record = parse_log(read, "log");
      if (!record) {
        ASSERT_EQ(record.error().message.substr(0, 4), "log:");
        ASSERT_LT(record.error().message.size(), 2000U);
      }
    });
    if (HasFatalFailure()) return;
  }
  watch.print("grown log");
}

/// Whoever turns failures of a log into passes by their statuses is told so, with the line.
TEST(Fuzz, NoStatusOfALogCanBeTurned) {
  const std::vector<std::string> lines = log_lines();
  for (std::size_t changed = 0; changed < lines.size(); ++changed) {
    const Json original = Json::parse(lines[changed]);
    if (original["type"] != "verdict") continue;
    for (const StatusInfo& status : all_statuses()) {
      if (original["status"] == status.name) continue;
      Json record = original;
      record["status"] = status.name;
      std::string text;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        text += (i == changed ? record.dump() : lines[i]) + "\n";
      }
      const auto read = parse_log(text, "log");
      ASSERT_FALSE(read) << record.dump();
      EXPECT_EQ(read.error().message.find(fmt::format("log:{}: the verdict", changed + 1)), 0u)
          << read.error().message;
    }
  }
}

}  // namespace
}  // namespace lockstep
