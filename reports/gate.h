#pragma once

#include <string>

#include "base/json.h"
#include "record/gate.h"
#include "reports/style.h"

namespace lockstep {

/// What a record's environment says of a worker, or of the "machine": a text; empty where it says
/// none.
std::string said_by(const RunRecord& record, const char* worker, const char* key);

/// "990 verdicts unchanged, 3 changes, 1 of which fails".
std::string gate_counts(const Gate& gate);
/// The same, and whether the gate is open.
std::string gate_outcome(const Gate& gate);
/// "eager: 3 of 993 instances differ, 2 cannot be told".
std::string eager_line(const EagerComparison& eager);
/// What the console says: what was compared, a count for each transition, each change (of every
/// transition so many; `verbose`: all), and one last line.
std::string gate_text(const Gate& gate, const Style& style, bool verbose);
/// For a comment on a merge request: at most 60,000 bytes of Markdown.
std::string gate_markdown(const Gate& gate);
/// All of it.
nlohmann::ordered_json gate_json(const Gate& gate);
/// A testcase for each change, one that fails or passes as the gate says.
std::string gate_junit(const Gate& gate);

}  // namespace lockstep
