#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "record/record.h"

namespace lockstep {

/// How much of a run its page has in one piece.
struct PageSizes {
  /// Data of so many bytes is compressed inside the page; smaller data stays readable in its
  /// source.
  std::size_t compress_from = std::size_t{1} << 18;
  /// So many verdicts the page reads when it is opened. A longer run stands in parts of as many.
  std::size_t part = 100'000;
};

/// The data of the page of a run, as script elements that nothing executes:
///
/// - `data` is what the page reads when it is opened: all that it counts, and of the verdicts of
///   the first part what it lists, searches and sorts by;
/// - `part-1` and so on have the same of the other parts, which the page reads when they are asked
///   for. Verdicts that need somebody are in the first; an instance is in one part with all its
///   verdicts;
/// - `block-0` and so on have the rest of 256 verdicts each, part after part, for who looks at one.
///
/// `page`: where it will be, from which it links to the files of the run; empty: nobody knows.
std::string page_data(const RunRecord& record, const std::filesystem::path& page,
                      const PageSizes& sizes);

}  // namespace lockstep
