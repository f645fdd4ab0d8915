#pragma once

#include <string>

#include "run/record.h"

namespace lockstep {

/// The run as one HTML file that needs nothing else: no network, no server, and without scripts it
/// still shows its totals and what failed.  The page is html/page.html, which the build embeds.
std::string html(const RunRecord& record);

}  // namespace lockstep
