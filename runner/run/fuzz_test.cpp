#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bounded_json.h"
#include "base/fuzzing.h"
#include "plan/plan.h"
#include "record/log.h"
#include "run/cluster.h"

namespace lockstep {
namespace {

/// A plan of one item, and what a cluster says that executes it.
struct Talk {
  Talk() {
    plan.paths.resize(1);
    plan.paths[0].name = "a";
    plan.instances.push_back({"case@cpu", "cpu", std::make_shared<Case>(), 1, 0});
    plan.items.push_back({0, 0, "case@cpu/a", {}, 0});
    Verdict verdict;
    verdict.facts.instance = "case@cpu";
    verdict.facts.path = "a";
    verdict.facts.id = "case@cpu/a";
    verdict.facts.device = "cpu";
    verdict.found.status = Status::unsupported;
    verdict.found.unsupported_by = UnsupportedBy::case_;
    Json judged = {{"type", "verdict"}};
    judged.update(to_json(verdict));
    messages.push_back(R"({"note": "begun"})");
    std::vector<std::string> lines;
    for (const char* name : {"machine", "eager"})
      lines.push_back(
          Json{{"type", "environment"}, {"name", name}, {"values", {{"torch", "2"}}}}.dump());
    lines.push_back(judged.dump());
    messages.push_back(Json{{"chunk", 0}, {"of", "w"}, {"lost", "it left the cluster"}}.dump());
    messages.push_back(Json{{"chunk", 1}, {"of", "w"}, {"lines", lines}}.dump());
  }

  Plan plan;
  std::vector<std::string> messages;
};

/// One of the messages is another one: a line of a log in it, or all of it.
std::string changed_message(const std::string& message, fuzz::Random& random) {
  Json json = Json::parse(message, nullptr, false);
  if (!json.contains("lines") || random.often(3)) return fuzz::changed_json(message, random);
  Json& line = json["lines"][random.below(json["lines"].size())];
  line = fuzz::changed_json(line.get<std::string>(), random);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Whatever a bridge, or a member behind it, says: an error, or it is heard.
TEST(Fuzz, EveryMessageOfAClusterIsHeardOrAnError) {
  const Talk talk;
  const auto [begin, count] = fuzz::stint();
  fuzz::Stopwatch watch;
  std::size_t judged = 0, refused = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    SCOPED_TRACE(seed);
    Json environment = {{"eager", {{"torch", "2"}}}, {"machine", Json::object()}};
    DriverHooks hooks;
    hooks.on_verdict = [&](const Verdict&) { ++judged; };
    hooks.on_note = [](const std::string&) {};
    hooks.stopped = [] { return false; };
    hooks.on_environment = [&](const std::string& name, const Json& values) {
      environment[name] = values;
    };
    Cluster cluster(talk.plan, environment, {false}, {}, hooks);
    const std::size_t changed = random.below(talk.messages.size());
    watch.time(seed, [&] {
      for (std::size_t i = 0; i < talk.messages.size(); ++i) {
        const std::string& message = talk.messages[i];
        const auto json = parse_bounded_json(
            i == changed ? changed_message(message, random) : message, {1 << 20, 16, 1 << 16});
        if (json && json->is_object()) static_cast<void>(cluster.hear(*json));
      }
      refused += cluster.outgoing().find("leave_out") != std::string::npos;
    });
  }
  std::printf("%zu verdicts, %zu refused\n", judged, refused);
  watch.print("talk with a cluster");
  if (count < 1000) return;
  EXPECT_GT(judged, count / 5) << "little is heard: the fuzzer tests the first checks only";
}

}  // namespace
}  // namespace lockstep
