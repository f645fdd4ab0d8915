#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "record/gate_rows.h"
#include "reports/style.h"

namespace lockstep {

/// "990 verdicts unchanged, 3 changes".
std::string gate_counts(const Gate& gate);
/// Why the gate is open or closed: "5 fingerprints in 8 verdicts are worse; 2 are unknown to the
/// suite, 3 have a report".
std::string gate_reason(const Gate& gate, const std::vector<GateRow>& rows);
/// The same with "the gate is closed: " before it.
std::string gate_outcome(const Gate& gate, const std::vector<GateRow>& rows);
/// What happened and who shows it: "2 verdicts; float16; inductor, inductor-dynamic".
std::string about_row(const GateRow& row);
/// "eager: 3 of 993 instances differ, 2 cannot be told".
std::string eager_line(const EagerComparison& eager);
/// What the console says: what was compared and in what it is not alike, each row (of every
/// transition so many; `verbose`: all, with the ids of their verdicts), a count for each
/// transition, and one last line.
std::string gate_text(const Gate& gate, const Style& style, bool verbose);
/// For a comment on a merge request: at most 60,000 bytes of Markdown.
std::string gate_markdown(const Gate& gate);
/// All of it: each row, and each change.
nlohmann::ordered_json gate_json(const Gate& gate);
/// A testcase for each change, one that fails or passes as the gate says.
std::string gate_junit(const Gate& gate);

}  // namespace lockstep
