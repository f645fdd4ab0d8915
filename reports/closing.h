#pragma once

#include <string>
#include <string_view>

#include "record/record.h"
#include "record/tally.h"
#include "reports/style.h"
#include "reports/tolerated.h"

namespace lockstep {

struct ClosingOptions {
  bool strict = false;
  bool verbose = false;
  bool quiet = false;       ///< the last lines alone
  bool explained = false;   ///< what is known was told when it was judged
  std::size_t columns = 0;  ///< into which lines are to fit, but for commands; 0: as they are
  double seconds = 0;       ///< wall clock of the run
};

/// What the console says at the end: the known verdicts, the ladder, a table by path, where the
/// time went, expectations that met nothing, and one last line with the totals.
std::string closing(const RunRecord& record, const Style& style, const ClosingOptions& options);

/// A verdict on one line: label, id, time, and why.
std::string one_line_of(const Style& style, const Verdict& verdict, bool strict);

/// What was tolerated of a verdict, on one line: grade, id, and what describe() says.
std::string tolerated_line(const Style& style, const Tolerated& let_pass);

/// "144 conform: 101 bits, 12 ulp4, 9 close, 22 no_worse1; 7 weak, 3 vacuous"; empty if nothing
/// conforms.
std::string conform_line(const Tally& counts);

/// "12 verdicts: 3 conform, 0 failing, 9 known in 12.3 s".
std::string totals_line(const RunRecord& record, bool strict, double seconds);

/// A sentence for a run in which nothing fails and nothing conforms either, which its totals could
/// hide: "12 known, 21 skipped: nothing was found to conform"; empty for others.
std::string nothing_conforms(const RunRecord& record, bool strict);

/// How a run ended that is not complete: "stopped after 3 of 12 verdicts"; empty for others.
std::string unfinished_line(const RunRecord& record);

/// The command that shows more of a run: "ci/lockstep report runs/1 --ladder".
std::string report_command(const RunRecord& record, std::string_view flag);

/// "12 verdicts", "1 verdict".
std::string counted(std::size_t count, std::string_view noun);

}  // namespace lockstep
