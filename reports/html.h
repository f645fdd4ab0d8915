#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "record/record.h"

namespace lockstep {

/// The run as one HTML file that needs nothing else: no network, no server, and without scripts it
/// still shows its totals and what failed.  The page is html/page.html, which the build embeds.
///
/// `page`: where it will be, from which it links to the files of the run; empty: nobody knows. Data
/// of so many bytes is compressed inside the page; smaller data stays readable in its source.
std::string html(const RunRecord& record, const std::filesystem::path& page = {},
                 std::size_t compress_from = std::size_t{1} << 18);

}  // namespace lockstep
