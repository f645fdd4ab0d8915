#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/lines.h"
#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// What a log may have, which may come from anybody (docs/reference/log.md, "Limits").  A run of
/// everything on every path has a twentieth of it.
struct LogLimits {
  std::size_t bytes = std::size_t{4} << 30;  ///< of a log; of an archive's once unpacked
  std::size_t line = 16 << 20;               ///< bytes of a record
  std::size_t values = 1 << 18;              ///< of a record
  std::size_t records = 2'000'000;
  std::size_t paths = 256;         ///< of a run, and of its verdicts
  std::size_t layers = 32;         ///< paths that stand on each other
  std::size_t environments = 256;  ///< names of environment records
  std::size_t facts = 1 << 14;     ///< of all of these together
};
inline constexpr LogLimits kLogLimits;

/// The append-only log of one run, `run.jsonl`: the primary record, from which every report is made
/// (format: reference/log.md).  Each record reaches the file whole or not at all; after a failed
/// write the log ends with the record before.  One process writes a log at a time.
class RunLog {
 public:
  /// The name of the log in a run's directory.
  static constexpr std::string_view kFileName = "run.jsonl";

  /// Makes the directory where needed and begins a new log in it.  A directory that already has one
  /// is refused: a log is never overwritten.
  static Result<RunLog> create(const std::filesystem::path& directory, const RunInfo& info);

  /// Continues the log of a run that ended early, after a record `resumed` with the version and the
  /// time of `now`. What a killed writer left of its last record is cut off.
  static Result<RunLog> append_to(const std::filesystem::path& directory, const RunInfo& now);

  /// An existing log, without the broken last record of a killed writer. For records that follow
  /// the end of a run.
  static Result<RunLog> reopen(const std::filesystem::path& directory);

  /// A new log of a run that is known as a whole, as log_text has it, brought to the disk.
  static Result<void> write(const std::filesystem::path& directory, const RunRecord& record);

  /// A log that somebody reads from a descriptor, such as a pipe, which it takes.
  static Result<RunLog> to(int fd, const RunInfo& info);

  RunLog(RunLog&& other) noexcept;
  RunLog& operator=(RunLog&&) = delete;
  ~RunLog();

  /// What a worker, or "machine", says of itself.  A later record of the same name replaces it.
  Result<void> environment(std::string_view name, const nlohmann::ordered_json& values);
  /// Each id once between two resumptions; a later record with the same id replaces it.
  Result<void> verdict(const Verdict& verdict) { return verdicts({&verdict, 1}); }
  /// Several in their order, made on all cores and written one at a time.
  Result<void> verdicts(std::span<const Verdict> verdicts);
  /// Also brings everything to the disk.
  Result<void> end(const RunEnd& end);
  /// Of a verdict that the log has; also after the end (record/explanation.h).
  Result<void> explanation(const nlohmann::ordered_json& explanation);

  const std::filesystem::path& path() const { return path_; }

 private:
  RunLog(int fd, std::filesystem::path path, std::uint64_t size)
      : fd_(fd), path_(std::move(path)), size_(size) {}
  static Result<RunLog> open(std::filesystem::path path, int flags);
  Result<void> append(const std::string& line);
  Result<void> cut();
  Result<void> sync();  ///< brings everything to the disk

  int fd_;
  std::filesystem::path path_;
  std::uint64_t size_;  ///< where the last whole record ends
  bool torn_ = false;   ///< there are bytes behind it that could not be cut off
};

/// The record of one line: an object with a `type`.
Result<nlohmann::ordered_json> record_of(std::string_view line);

/// Reads a log, or the log of a run's directory; one whose name ends with .gz is unpacked.  A torn
/// last line and a missing end are no errors: they are what kill -9 leaves behind
/// (RunRecord::complete).  Verdicts come in the order of the plan, the last one of each id; a
/// second one that no resumption explains is an error with its line, and so is what follows an end.
Result<RunRecord> read_log(const std::filesystem::path& path);

/// The log of a run that is known as a whole, as text: its environments by name, its verdicts in
/// their order, its end, what was explained of them.  parse_log of it is the record again, and
/// there is one such text of it.
std::string log_text(const RunRecord& record);

/// Shows the log of a run as log_text has it, a line at a time, as long as `take` wants more.
void each_line(const RunRecord& record, const std::function<bool(std::string_view line)>& take);

/// The same for what comes in pieces, of which none is held that is longer than a line; `where`
/// names it in errors.
Result<RunRecord> parse_log(LineReader& lines, std::string_view where);
/// The same for the text of a log.
Result<RunRecord> parse_log(std::string_view text, std::string_view where);

}  // namespace lockstep
