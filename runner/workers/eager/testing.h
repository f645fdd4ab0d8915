#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workers/eager/execution.h"

// What the tests of this folder share: a folder that goes away, requests, and reading observations.
namespace lockstep::eager {

/// A run request with its storages, executed in this process.
class Request {
 public:
  Request() {
    std::string pattern = ::testing::TempDir() + "lockstep-eager-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    json_ = {{"run", 1},
             {"device", "cpu"},
             {"mode", "plain"},
             {"repeat", 1},
             {"seed", 0},
             {"storages", nlohmann::json::array()},
             {"calls", {{{"inputs", nlohmann::json::object()}}}}};
    json_["program"] = {{"inputs", nlohmann::json::array()},
                        {"steps", nlohmann::json::array()},
                        {"outputs", nlohmann::json::array()}};
  }
  ~Request() { std::filesystem::remove_all(folder_); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  template <class T>
  int storage(const std::vector<T>& values) {
    const std::string path = folder_ / ("in" + std::to_string(json_["storages"].size()));
    const std::size_t bytes = values.size() * sizeof(T);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
    json_["storages"].push_back({{"file", path}, {"bytes", bytes}});
    return static_cast<int>(json_["storages"].size()) - 1;
  }

  Request& input(const std::string& name, nlohmann::json value) {
    json_["program"]["inputs"].push_back(name);
    json_["calls"][0]["inputs"][name] = std::move(value);
    return *this;
  }
  /// A step as JSON text, as it stands in a request.
  Request& step(const char* text) {
    json_["program"]["steps"].push_back(nlohmann::json::parse(text));
    return *this;
  }
  Request& outputs(std::vector<std::string> names) {
    json_["program"]["outputs"] = std::move(names);
    return *this;
  }
  nlohmann::json& operator[](const char* key) { return json_[key]; }

  /// Executes and returns the observation, which `values` can read afterwards.
  const nlohmann::ordered_json& run() {
    observation_ = execute(json_, folder_, [](const std::string&) {});
    return observation_;
  }
  /// The first call of a run.
  const nlohmann::ordered_json& call(int run = 0) const {
    return observation_["runs"][static_cast<std::size_t>(run)]["calls"][0];
  }
  /// All elements of the storage that an observed view points to.
  template <class T>
  std::vector<T> values(const nlohmann::ordered_json& view) const {
    const auto& entry = observation_["storages"][view.at("storage").get<std::size_t>()];
    std::ifstream file(folder_ / entry["file"].get<std::string>(), std::ios::binary);
    std::vector<T> values(entry["bytes"].get<std::size_t>() / sizeof(T));
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
    return values;
  }

 private:
  std::filesystem::path folder_;
  nlohmann::json json_;
  nlohmann::ordered_json observation_;
};

/// A view of a whole storage.
inline nlohmann::json view(int storage, const char* dtype, std::vector<std::int64_t> shape,
                           std::vector<std::int64_t> strides, std::int64_t offset = 0) {
  return {{"storage", storage},
          {"dtype", dtype},
          {"shape", std::move(shape)},
          {"strides", strides},
          {"offset", offset}};
}

}  // namespace lockstep::eager
