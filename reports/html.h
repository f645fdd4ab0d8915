#pragma once

#include <filesystem>
#include <string>

#include "record/record.h"
#include "reports/page_data.h"

namespace lockstep {

/// The run as one HTML file that needs nothing else: no network, no server, and without scripts it
/// still shows its totals and what failed.  The page is html/page.html, which the build embeds.
///
/// `page`: where it will be, from which it links to the files of the run; empty: nobody knows.
std::string html(const RunRecord& record, const std::filesystem::path& page = {},
                 const PageSizes& sizes = {});

}  // namespace lockstep
