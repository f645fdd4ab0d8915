#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bounded_json.h"
#include "base/fuzzing.h"
#include "plan/plan.h"
#include "record/log.h"
#include "run/dispatcher.h"

namespace lockstep {
namespace {

/// A plan of one item, and what a cluster says that executes it.
struct Talk {
  Talk() {
    plan.paths.resize(1);
    plan.paths[0].name = "a";
    plan.instances.push_back({"case@cpu", "cpu", std::make_shared<Case>(), 1, 0});
    plan.items.push_back({0, 0, "case@cpu/a", {}, 0});
    info.version = "0.1.0";
    Verdict verdict;
    verdict.facts.instance = "case@cpu";
    verdict.facts.path = "a";
    verdict.facts.id = "case@cpu/a";
    verdict.facts.device = "cpu";
    verdict.found.status = Status::unsupported;
    verdict.found.unsupported_by = UnsupportedBy::case_;
    Json judged = {{"type", "verdict"}};
    judged.update(to_json(verdict));
    const auto line = [&](const Json& record) {
      messages.push_back(Json{{"of", "w"}, {"line", record.dump()}}.dump());
    };
    messages.push_back(R"({"note": "begun"})");
    messages.push_back(R"({"joined": "w", "jobs": 2})");
    line(to_json(info));
    for (const char* name : {"machine", "eager"})
      line({{"type", "environment"}, {"name", name}, {"values", {{"torch", "2"}, {"host", "h"}}}});
    line(judged);
    messages.push_back(R"({"of": "w", "ended": true, "why": "its Lockstep ended with -9:"})");
    messages.push_back(R"({"of": "w", "gone": true, "why": "it left the cluster"})");
  }

  Plan plan;
  RunInfo info;
  std::vector<std::string> messages;
};

/// One of the messages is another one: the line of a log in it, or all of it.
std::string changed_message(const std::string& message, fuzz::Random& random) {
  Json json = Json::parse(message, nullptr, false);
  if (!json.contains("line") || random.often(3)) return fuzz::changed_json(message, random);
  json["line"] = fuzz::changed_json(json["line"].get<std::string>(), random);
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
    Dispatcher dispatcher(talk.plan, talk.info, environment, "eager", {false}, {});
    dispatcher.send = [](const Json&) {};
    dispatcher.on_verdict = [&](const Verdict&) { ++judged; };
    dispatcher.on_note = [&](const std::string& note) {
      refused += note.find("is left out") != std::string::npos;
    };
    dispatcher.on_environment = [&](const std::string& name, const Json& values) {
      environment[name] = values;
    };
    const std::size_t changed = random.below(talk.messages.size());
    watch.time(seed, [&] {
      for (std::size_t i = 0; i < talk.messages.size(); ++i) {
        const std::string& message = talk.messages[i];
        const auto json = parse_bounded_json(
            i == changed ? changed_message(message, random) : message, {1 << 20, 16, 1 << 16});
        if (json && json->is_object()) static_cast<void>(dispatcher.hear(*json));
      }
      static_cast<void>(dispatcher.report());
    });
  }
  std::printf("%zu verdicts, %zu refused\n", judged, refused);
  watch.print("talk with a cluster");
  if (count < 1000) return;
  EXPECT_GT(judged, count / 5) << "little is heard: the fuzzer tests the first checks only";
}

}  // namespace
}  // namespace lockstep
