#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// A run as a store keeps it: a log with all that a gate and a history read, without programs,
/// proof of compilation, pictures of differences, and times but one.
RunRecord kept(RunRecord record);

/// Puts a run into a store, a folder to which runs are only added: as a packed log whose name has
/// its time and its torch. The file; one that is there stays as it is.
Result<std::filesystem::path> put_into_store(const std::filesystem::path& store,
                                             const RunRecord& record);

/// The logs of a store, the oldest first.
std::vector<std::filesystem::path> logs_of_store(const std::filesystem::path& store);

/// Which logs of a store may go: those more than so many days older than the latest one, but for
/// the first of each week, and all of releases. By their names alone.
std::vector<std::filesystem::path> may_go(const std::vector<std::filesystem::path>& logs, int days);

}  // namespace lockstep
