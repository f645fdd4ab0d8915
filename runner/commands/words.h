#pragma once

#include <string>
#include <vector>

#include "requests/selection.h"

namespace lockstep {

/// A table that people read, and machines.
struct WordTable {
  std::string title;                  ///< "statuses"
  std::vector<std::string> headings;  ///< of the columns; the first names the word
  std::vector<std::vector<std::string>> rows;
};

/// The tables of `list --statuses` and its like, from the one home of each thing: `kind` is
/// ListOptions::words.  The levels are those of the suite, with how much each takes; one that
/// cannot be read is a failure.
Answer<std::vector<WordTable>> word_tables(const std::string& kind, const Basis& basis,
                                           Session& session);

/// In columns as wide as they need be, the last one as it comes.
std::string to_text(const std::vector<WordTable>& tables);
std::string to_markdown(const std::vector<WordTable>& tables);
/// {"statuses": [{"name": …, …}]}
std::string to_json(const std::vector<WordTable>& tables);

}  // namespace lockstep
