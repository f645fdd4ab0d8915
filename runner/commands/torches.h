#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "requests/failure.h"
#include "requests/requests.h"

namespace lockstep {

/// A torch that a word of a command line means: a version, an interpreter, the folder of an
/// environment (runner/python/lockstep/environments.py, which knows about them).
struct FoundTorch {
  std::string word;     ///< as it was given
  std::string name;     ///< for a folder; no other torch has it: "2.13.0+cpu"
  std::string version;  ///< "2.13.0+cpu"
  std::string note;     ///< what a person should know; or empty
  std::filesystem::path python;
  std::filesystem::path eager;     ///< the executable of the eager worker; empty: not known yet
  std::filesystem::path provider;  ///< what builds that (Surroundings::provider)
  bool ready = false;              ///< nothing has to be set up
  /// What setting it up will take, by earlier ones; empty: nobody knows.
  std::optional<double> seconds, bytes;
};

/// What words mean; nothing is set up. `index`: the package index that pip asks, or empty. Refused,
/// with what is wrong on standard error, if a word means nothing or no index has that version.
Answer<std::vector<FoundTorch>> find_torches(const Surroundings& at,
                                             const std::vector<std::string>& words,
                                             const std::string& index);

/// Sets up what is missing of them, saying so on standard error.
Answer<std::vector<FoundTorch>> provide_torches(const Surroundings& at,
                                                const std::vector<FoundTorch>& torches,
                                                const std::string& index);

/// The versions between two, both included, that an index has, the oldest first.
Answer<std::vector<std::string>> versions_between(const Surroundings& at, const std::string& old,
                                                  const std::string& other,
                                                  const std::string& index);

/// Calls Lockstep with a torch, in `directory`, and waits; its exit status. What it prints goes to
/// standard error.
Result<int> call_with(const FoundTorch& torch, const Surroundings& at,
                      const std::vector<std::string>& words,
                      const std::filesystem::path& directory);

}  // namespace lockstep
