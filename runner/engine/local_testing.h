#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/local.h"
#include "engine/scratch.h"

namespace lockstep {

/// The worker that stands in for torch: a script of Python.
inline const std::string kFakeWorker =
    std::string(LOCKSTEP_SOURCE_DIR) + "/runner/engine/testdata/fake_worker.py";

/// What it is told first.
inline Json fake_hello() {
  return {{"type", "hello"},
          {"protocol", 2},
          {"threads", 1},
          {"cache", nullptr},
          {"limits", {{"memory_bytes", 0}, {"file_bytes", 0}}},
          {"libraries", Json::array()}};
}

/// Jobs for the fake worker, whose behaviour is the name of the path.
class LocalEngines : public testing::Test {
 protected:
  LocalEngines() : scratch_(std::move(*Scratch::create())) {
    std::ofstream(scratch_.path() / "input") << std::string(16, 'x');
  }
  LocalEngineOptions options(double seconds) const {
    return {2, {seconds, seconds, 20}, scratch_.path(), scratch_.path(), fake_hello()};
  }
  WorkerSpec fake(const std::string& how = "ready") const {
    return {"fake", {"python3", kFakeWorker, how}, {}};
  }
  Json message(const std::string& path) const {
    const Json view = {{"storage", 0},
                       {"dtype", "float32"},
                       {"shape", {2, 2}},
                       {"strides", {2, 1}},
                       {"offset", 0}};
    return {{"instance", "i@cpu"},
            {"path", {{"name", path}}},
            {"device", "cpu"},
            {"mode", "plain"},
            {"repeat", 1},
            {"seed", 0},
            {"program",
             {{"inputs", {"x"}},
              {"steps", Json::array()},
              {"outputs", {"x"}},
              {"context", Json::object()},
              {"backward", nullptr}}},
            {"calls", {{{"inputs", {{"x", view}}}}}}};
  }
  Job job(std::string id, const WorkerSpec& worker, const std::string& path, std::size_t order,
          std::function<void(Observation, double)> done) const {
    return {std::move(id),
            {{worker, message(path)}},
            {{scratch_.path() / "input", 16}},
            order,
            std::move(done)};
  }
  /// Runs one job for each path and gives the observations in the order of the paths.
  std::vector<Observation> run(const std::vector<std::string>& paths, const WorkerSpec& worker,
                               double seconds = 20) {
    return run(paths, worker, options(seconds));
  }
  std::vector<Observation> run(const std::vector<std::string>& paths, const WorkerSpec& worker,
                               const LocalEngineOptions& options) {
    LocalEngine engine(options);
    engine.on_note = [this](const std::string& text) { notes_.push_back(text); };
    std::vector<Observation> observations(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      engine.submit(
          job(paths[i], worker, paths[i], i,
              [&observations, i](Observation seen, double) { observations[i] = std::move(seen); }));
    }
    while (!engine.idle()) engine.step(0.05);
    return observations;
  }
  /// Waits until the third execution of a crowd has written: the second one's `ended` is said.
  bool third_has_begun() const {
    const std::filesystem::path file = scratch_.path() / "out3" / "observation.json";
    for (int i = 0; i < 6000 && !std::filesystem::exists(file); ++i) ::usleep(10000);
    return std::filesystem::exists(file);
  }
  Scratch scratch_;
  std::vector<std::string> notes_;
};

}  // namespace lockstep
