#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "requests/failure.h"

namespace lockstep {

/// A file of Lockstep's Python package, such as "capturing/door.py": in a clone, or in an installed
/// package, whose suite `home` is. Empty: it is not there.
std::filesystem::path package_file(const std::filesystem::path& home, const std::string& name);

/// The place of a Python program among the words of a command that takes one; what is behind it are
/// the program's own words.
std::optional<std::size_t> program_in(const std::vector<std::string>& words);

/// Becomes what captures programs, which becomes the runner again once there are cases. `words`: a
/// command, its options, `--`, the program and its arguments. Returns where it cannot be started.
Exit hand_over(const std::vector<std::string>& words);

}  // namespace lockstep
