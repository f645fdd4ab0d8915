#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace lockstep {

/// The format of the logs that are written; those of every format from 1 on are read.
constexpr int kLogFormat = 3;

/// A path as a run knew it.
struct PathInfo {
  std::string name;
  std::string title;
  std::string contract;
  std::string digest{};               ///< of `declared` as compact JSON
  nlohmann::ordered_json declared{};  ///< the whole path file
};

/// A default path that cannot be used where the run takes place, so that nothing was planned on it.
struct AbsentPath {
  std::string name;
  std::string reason;  ///< "torch 2.13.0 has no torch._inductor.config.numerics"
};

/// Which part of a run this one is (plan/shard.h).
struct ShardInfo {
  std::size_t number = 1;   ///< from 1
  std::size_t of = 1;       ///< how many make the whole run
  std::string plan;         ///< digest of the whole run's ids in order
  std::size_t planned = 0;  ///< verdicts of the whole run

  bool operator==(const ShardInfo&) const = default;
};

/// A random part of a run that is executed several times, the rest once (draw.h).
struct RepeatedPart {
  int times = 3;
  double percent = 10;
  std::uint64_t seed = 0;

  bool operator==(const RepeatedPart&) const = default;
};

/// What is known when a run begins.
struct RunInfo {
  std::string version;                 ///< of Lockstep
  std::string started;                 ///< UTC, "2026-11-21T10:00:00Z"
  std::vector<std::string> arguments;  ///< of the command line, without the program's name
  std::string directory;               ///< where it was given: relative paths begin there
  std::string level;                   ///< "smoke", or empty where the selection was explicit
  /// Of what decides the verdicts, hexadecimal by name: `cases`, `judge`, `paths`, `expectations`,
  /// `levels`, and `libraries` where there are some.
  std::map<std::string, std::string> digests;
  std::string plan;  ///< digest of the ids in order: two runs with the same one did the same work
  std::size_t planned = 0;  ///< verdicts to come
  std::size_t jobs = 1;
  /// The percentage that had to be judged (judged.h); empty: none was demanded.
  std::optional<double> min_judged;
  std::vector<PathInfo> paths;
  std::vector<AbsentPath> absent_paths;
  std::vector<std::string> devices;
  std::optional<ShardInfo> shard;             ///< of one that is a part of a run
  std::optional<RepeatedPart> repeated_part;  ///< where a part of it is executed several times
  std::size_t merged = 0;  ///< of a run that was put together: from how many shards
};

/// Overloads that a run did not judge, for one reason (record/coverage.h).
struct CoverageGap {
  std::string why;
  std::size_t count = 0;
  std::vector<std::string> names = {};  ///< "aten::sum.dim_IntList"; empty where too many

  bool operator==(const CoverageGap&) const = default;
};

/// How many overloads of a set a run executed and judged on a path, and what it did not.
struct CoverageCount {
  std::string of;    ///< "core", "functional"
  std::string path;  ///< empty: on any
  std::size_t judged = 0, all = 0;
  std::vector<CoverageGap> gaps = {};

  bool operator==(const CoverageCount&) const = default;
};

/// How a run ended; absent in a log whose writer was killed.
struct RunEnd {
  double seconds = 0;
  bool interrupted = false;
  std::vector<UnmatchedExpectation> unmatched;
  /// Of core and of the functional ones, on any path and then on each; empty: nobody counted.
  std::vector<CoverageCount> coverage = {};
};

/// A whole run as read back from its log: everything that a report shows.
struct RunRecord {
  RunInfo info;
  /// One object by worker ("eager", "compiled") and one by the name "machine": string keys, values
  /// strings or numbers.
  nlohmann::ordered_json environment = nlohmann::ordered_json::object();
  std::vector<Verdict> verdicts;  ///< in the order of the plan, each id once
  /// Where the log is, and the files that it names are below; no part of the log.
  std::filesystem::path directory;
  std::optional<RunEnd> end;

  /// Whether the run came to its end with every verdict that was planned.  Whoever shows a record
  /// that did not says so; whoever certifies one refuses it.
  bool complete() const { return end && !end->interrupted && verdicts.size() == info.planned; }
};

/// Into the order of the plan; what has one place stays as it is.
void sort_by_place(std::vector<Verdict>& verdicts);

nlohmann::ordered_json to_json(const RunInfo& info);
nlohmann::ordered_json to_json(const CoverageCount& count);
nlohmann::ordered_json to_json(const RunEnd& end);
Result<RunInfo> run_info_from_json(const nlohmann::ordered_json& json);
Result<RunEnd> run_end_from_json(const nlohmann::ordered_json& json);

}  // namespace lockstep
