#pragma once

#include <string>

#include "base/json.h"

namespace lockstep {

/// The key of a statement whose archive was checked, and of which nothing was executed: page and
/// badge say so.
inline constexpr const char* kNotExecutedHere = "not_executed_here";

/// A page for a vendor's site that says what a certificate says (statement_of): one HTML file that
/// needs no network and no script.  `digest` is that of the archive and `command` what checks it.
std::string conformance_page(const Json& statement, const std::string& digest,
                             const std::string& command);

/// An SVG of one line, "Lockstep | core-1 on cuda", for a page that links to the other one.
std::string conformance_badge(const Json& statement);

}  // namespace lockstep
