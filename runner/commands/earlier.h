#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "requests/requests.h"

namespace lockstep {

/// What the run of a log was asked for, as far as another torch can be asked the same; `log` may be
/// a run's directory. Empty where nobody can tell.
std::optional<RunRequest> request_of_log(const std::filesystem::path& log, const Surroundings& at);

/// The seconds that the run in a directory took; empty where it did not come to its end.
std::optional<double> seconds_of_run(const std::filesystem::path& directory);

/// The directories of runs in these folders, the latest first; so many at most.
std::vector<std::filesystem::path> runs_in(const std::vector<std::filesystem::path>& folders,
                                           std::size_t most = 200);

/// What the latest of the runs in these folders took that were asked for the same.
std::optional<double> seconds_of_earlier(const RunRequest& request,
                                         const std::vector<std::filesystem::path>& folders);

/// What is chosen, in words: "core", "bugs/* --path inductor".
std::string words_for(const RunRequest& request);

/// A word for a folder.
std::string folder_name(const std::string& text);

}  // namespace lockstep
