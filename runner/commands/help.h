#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace lockstep {

/// How --help looks: what a command does, examples, its usage, and its options in groups. No line
/// has more than 100 columns.
std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace lockstep
