#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/reporter.h"

namespace lockstep {

/// How the console report looks.
struct ConsoleOptions {
  bool color_out = false;    ///< results
  bool color_err = false;    ///< progress and notes
  bool live = false;         ///< one line that is rewritten; else a plain line every few seconds
  std::size_t columns = 80;  ///< width of the live line
  std::size_t wrap =
      0;  ///< columns into which the closing lines are to fit; 0: as long as they are
  bool verbose = false;  ///< a line for every verdict, whatever its status
  bool quiet = false;    ///< what fails, and the last line; no progress
  bool strict = false;
  bool explain_known = false;  ///< whoever asked for a verdict by its id wants to see its numbers
  /// Seconds since some fixed moment.
  std::function<double()> clock;
};

/// The report that a person reads while and after a run: results on `out`, progress and notes on
/// `err`.
class Console : public Reporter {
 public:
  Console(std::ostream& out, std::ostream& err, ConsoleOptions options);

  void run_started(const RunInfo& info) override;
  void note(const std::string& text) override;
  void running(const std::vector<std::string>& ids,
               const std::vector<std::string>& starting) override;
  void tick() override;
  void verdict(const Verdict& verdict) override;
  void run_ended(const RunRecord& record) override;

 private:
  void progress();
  std::string progress_text() const;
  std::string left() const;
  void clear_line();

  std::ostream& out_;
  std::ostream& err_;
  ConsoleOptions options_;
  std::size_t planned_ = 0, done_ = 0, failing_ = 0;
  std::vector<std::string> running_, starting_;
  double started_ = 0;
  /// When the first execution began, and how many verdicts there were then: those of a run that
  /// goes on took no time.
  std::optional<std::pair<double, std::size_t>> begun_;
  double shown_ = 0;                  ///< when progress was last shown
  std::optional<std::size_t> tenth_;  ///< how many tenths were done then; empty: not shown yet
  bool line_open_ = false;            ///< a live line stands on the terminal
};

}  // namespace lockstep
