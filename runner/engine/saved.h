#pragma once

#include <filesystem>
#include <string>

namespace lockstep {

/// Where, below a folder, lies what a part of a job left: for who keeps it, and for who finds it
/// again.  The job has its folder by a digest of its id.
std::filesystem::path saved_folder(const std::filesystem::path& below, const std::string& job,
                                   std::size_t part);

/// Copies what a part left in `out`, but for what it printed, into its folder `below`; what an
/// earlier execution left there is replaced.  If something cannot be copied, nothing is kept.
void save_part(const std::filesystem::path& out, const std::filesystem::path& below,
               const std::string& job, std::size_t part);

}  // namespace lockstep
