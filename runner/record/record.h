#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace lockstep {

/// The format of the logs that are written; those of every format from 1 on are read.
constexpr int kLogFormat = 2;

/// A path as a run knew it.
struct PathInfo {
  std::string name;
  std::string title;
  std::string promise;
};

/// What is known when a run begins.
struct RunInfo {
  int format = kLogFormat;
  std::string version;                 ///< of Lockstep
  std::string started;                 ///< UTC, "2026-11-21T10:00:00Z"
  std::vector<std::string> arguments;  ///< of the command line, without the program's name
  std::string directory;               ///< where it was given: relative paths begin there
  std::string level;                   ///< "smoke", or empty where the selection was explicit
  std::string suite;                   ///< digest of the cases, paths and expectations, hexadecimal
  std::string plan;  ///< digest of the ids in order: two runs with the same one did the same work
  std::size_t planned = 0;  ///< verdicts to come
  std::size_t jobs = 1;
  std::vector<PathInfo> paths;
  std::vector<std::string> devices;
};

/// How a run ended; absent in a log whose writer was killed.
struct RunEnd {
  double seconds = 0;
  bool interrupted = false;
  std::vector<UnmatchedExpectation> unmatched;
};

/// A whole run as read back from its log: everything that a report shows.
struct RunRecord {
  RunInfo info;
  /// One object by worker ("eager", "compiled") and one by the name "machine": string keys, values
  /// strings or numbers.
  nlohmann::ordered_json environment = nlohmann::ordered_json::object();
  std::vector<Verdict> verdicts;  ///< in the order of the plan, each id once
  std::optional<RunEnd> end;
};

nlohmann::ordered_json to_json(const RunInfo& info);
nlohmann::ordered_json to_json(const RunEnd& end);
Result<RunInfo> run_info_from_json(const nlohmann::ordered_json& json);
Result<RunEnd> run_end_from_json(const nlohmann::ordered_json& json);

}  // namespace lockstep
