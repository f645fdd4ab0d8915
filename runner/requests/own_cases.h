#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "requests/requests.h"

namespace lockstep {

/// Whether a word of SELECT names a case file or a folder of them rather than an id: it ends with
/// `.json`, begins with `./`, `../` or `/`, or ends with `/` and names a folder that is there.
/// Names begin in `directory`.
bool names_own_cases(const std::string& word, const std::filesystem::path& directory);

/// What such a word names, as in the result of own_cases.
std::filesystem::path own_cases_of(const std::string& word, const std::filesystem::path& directory);

/// All that is named so, the case files first; absolute, each once.
std::vector<std::filesystem::path> own_cases(const Basis& basis);

}  // namespace lockstep
