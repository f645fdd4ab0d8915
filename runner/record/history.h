#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/record.h"
#include "record/tally.h"

namespace lockstep {

/// What a fingerprint, or an operator, was in one run.
enum class Seen {
  unknown,   ///< nothing was judged that could show it
  absent,    ///< it was looked for, and is not there
  unstable,  ///< only in some executions
  shown,
};

struct HistoryCell {
  Seen seen = Seen::unknown;
  std::size_t verdicts = 0;  ///< that show it
  std::size_t judged = 0;    ///< that could
};

/// What became of it, over all runs.
enum class Course { open, flaky, fixed };

std::string_view name_of(Course course);

/// A fingerprint, or an operator, over all runs. Places are those of runs.
struct HistoryRow {
  std::string name;
  std::vector<HistoryCell> cells;  ///< one for each run
  Course course = Course::open;
  /// Where it came last: the first run that shows it, and the one before that does not; the latter
  /// is empty where it was always there, as far as is known.
  std::size_t first_bad = 0;
  std::optional<std::size_t> last_good;
  std::size_t last_bad = 0;                ///< the latest run that shows it
  std::optional<std::size_t> fixed_in;     ///< the first run after it that does not
  std::string example, repro;              ///< the smallest verdict of the latest run that shows it
  std::string known;                       ///< what the suite knows of it
  std::set<std::string> links, operators;  ///< reports; whom the fingerprint accuses
};

/// A run as a column of a history.
struct HistoryRun {
  RunRecord run;      ///< without its verdicts
  std::string torch;  ///< "2.16.0.dev20261120+cpu"
  Tally tally;
  std::size_t judged = 0;           ///< verdicts whose status is a judgement
  std::vector<std::string> unlike;  ///< in what it is not like the run before (unlike.h)
  std::size_t nights_missing = 0;   ///< of nightlies, between the run before and it
  bool whole = true;                ///< it came to its end
};

/// Runs of one suite, by their torch and then by their time, and what became of each finding.
struct History {
  std::vector<HistoryRun> runs;
  /// What is open, then what is flaky, then what is fixed; of these the latest first.
  std::vector<HistoryRow> fingerprints;
  std::vector<HistoryRow> operators;  ///< those that a fingerprint accuses
};

/// Makes a history of runs, of which each is read once and not held.
class HistoryMaker {
 public:
  /// Takes a run, whose verdicts it does not keep. Whether it is another one than those before.
  bool add(const RunRecord& record);
  History history() const;

 private:
  /// What one run says of a name.
  struct Said {
    std::vector<std::size_t> verdicts;  ///< by number
    bool unstable = true;               ///< all of them
    std::string example, repro, known;
    std::set<std::string> links;
  };
  struct Column {
    HistoryRun run;
    std::vector<bool> judged;  ///< by the number of a verdict
    std::map<std::string, Said> fingerprints;
    std::map<std::string, std::size_t> of_operator;  ///< verdicts that were judged
    std::map<std::string, std::set<std::size_t>> accused;
  };
  std::size_t number_of(const std::string& id);
  void add_findings(Column& column, const Verdict& verdict, std::size_t number);
  std::vector<HistoryRow> fingerprint_rows(const std::vector<const Column*>& columns) const;
  static std::vector<HistoryRow> operator_rows(const std::vector<const Column*>& columns);

  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Column> columns_;
};

/// Whether a version of torch is older: 2.15.0.dev20261101, 2.15.0a0+git1, 2.15.0rc1, 2.15.0.
bool is_older(std::string_view torch, std::string_view than);

/// Whether it is that of a release: 2.15.0, 2.15.0+cpu.
bool is_release(std::string_view torch);

/// Whether it is that of a nightly: 2.16.0.dev20261120+cpu.
bool is_nightly(std::string_view torch);

}  // namespace lockstep
