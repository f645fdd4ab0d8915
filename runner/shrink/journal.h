#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace lockstep {

/// A file with a line for the result of each candidate, so that `shrink` of the same case continues
/// where it stopped.
class Journal {
 public:
  /// Reads `file`, if it is there; empty: nothing is kept.  A line that is not whole is passed
  /// over.
  explicit Journal(std::filesystem::path file);

  /// What is known of a candidate by its digest.
  std::optional<std::string> find(const std::string& digest) const;
  void add(const std::string& digest, const std::string& found);
  std::size_t size() const { return known_.size(); }

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> known_;
};

}  // namespace lockstep
