#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "wire/message.h"
#include "wire/observation.h"
#include "wire/request.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// One line of the files of accepted and refused messages (testdata/README.md).
struct Example {
  std::string name;
  std::string text;
  Json line;  ///< all of it
  std::optional<std::string> refused;
};

std::vector<Example> examples(const char* file, const char* key) {
  std::vector<Example> all;
  std::ifstream lines(fs::path(LOCKSTEP_SOURCE_DIR) / "runner/wire/testdata" / file);
  for (std::string line; std::getline(lines, line);) {
    Example example;
    example.line = Json::parse(line);
    example.name = example.line.at("name");
    example.text = example.line.contains("text") ? example.line["text"].get<std::string>()
                                                 : example.line.at(key).dump();
    if (example.line.contains("refused") && example.line["refused"].is_string())
      example.refused = example.line["refused"];
    all.push_back(std::move(example));
  }
  return all;
}

TEST(WireData, LinesOfWorkersAreAcceptedOrRefusedAsTheFileSays) {
  const auto all = examples("worker_lines.jsonl", "line");
  EXPECT_GT(all.size(), 40U);
  for (const Example& example : all) {
    const auto read = read_message(example.text);
    EXPECT_EQ(read.has_value(), !example.refused.has_value()) << example.name;
    if (!read && example.refused) {
      EXPECT_THAT(read.error().message, HasSubstr(*example.refused)) << example.name;
    }
  }
}

TEST(WireData, ObservationsAreAcceptedOrRefusedAsTheFileSays) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("lockstep-wire-data-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "0") << std::string(80, '\x3f');
  const auto all = examples("observations.jsonl", "observation");
  EXPECT_GT(all.size(), 40U);
  for (const Example& example : all) {
    const auto read = parse_observation(example.text, folder);
    EXPECT_EQ(read.has_value(), !example.refused.has_value())
        << example.name << (read ? "" : ": " + read.error().message);
    if (!read && example.refused) {
      EXPECT_THAT(read.error().message, HasSubstr(*example.refused)) << example.name;
    }
    if (!read || !example.line.contains("values")) continue;
    Json names = Json::array();
    for (const auto& [name, value] : read->repetitions.at(0).at(0).outputs) names.push_back(name);
    EXPECT_EQ(names, example.line["values"]) << example.name;
  }
  fs::remove_all(folder);
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

TEST(WireData, TheRunnerSaysWhatWorkersAreTestedWith) {
  const ExecutionRequest request{.instance = "test@cpu",
                                 .path = {{"name", "eager-python"}},
                                 .device = "cpu",
                                 .mode = "plain",
                                 .program = Json::object(),
                                 .calls = Json::array()};
  const Json said = run_message(1, to_json(request), {{"in", 16}}, "out", "");
  EXPECT_EQ(said["run"], 1);
  EXPECT_EQ(said["out"], "out");
  const Example first = examples("requests.jsonl", "request").front();
  EXPECT_EQ(keys(said), keys(first.line["request"]));
  ExecutionRequest all = request;
  all.reseed = true;
  all.threads = 2;
  const Example second = examples("requests.jsonl", "request").at(1);
  EXPECT_EQ(keys(run_message(1, to_json(all), {}, "out", "")), keys(second.line["request"]));
  EXPECT_EQ(said["storages"], Json::parse(R"([{"file": "in", "bytes": 16}])"));
  EXPECT_EQ(run_message(1, to_json(request), {}, "out", "package")["before"], "package");
  EXPECT_FALSE(said.contains("held")) << "of a worker that cannot tell";
  const HeldStorages nothing;
  EXPECT_EQ(run_message(1, to_json(request), {}, "out", "", &nothing)["held"], Json::array());
  // A request cannot say that it is another one.
  EXPECT_EQ(
      run_message(2, {{"type", "stop"}, {"run", 1}, {"out", "/"}, {"before", "/"}, {"held", 1}}, {},
                  "out", ""),
      Json({{"type", "run"}, {"run", 2}, {"out", "out"}, {"storages", Json::array()}}));
}

TEST(WireData, HelloSaysAllThatAWorkerNeeds) {
  const Json hello = to_json(HelloRequest{2, "/cache", 3, 4, {"/lib.so"}, {"vendor"}});
  EXPECT_EQ(hello, Json::parse(R"({"type": "hello", "protocol": 2, "threads": 2,
      "cache": "/cache", "limits": {"memory_bytes": 3, "file_bytes": 4},
      "libraries": ["/lib.so"], "modules": ["vendor"]})"));
  HelloRequest digests;
  digests.digests = {{"cuda", "/digests.so"}};
  EXPECT_EQ(to_json(digests)["digests"], Json::parse(R"({"cuda": "/digests.so"})"));
  EXPECT_TRUE(to_json(HelloRequest{})["cache"].is_null());
  EXPECT_EQ(to_json(HelloRequest{})["modules"], Json::array());
}

}  // namespace
}  // namespace lockstep
