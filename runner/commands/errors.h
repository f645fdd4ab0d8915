#pragma once

#include <filesystem>
#include <string_view>

#include "base/diagnostic.h"
#include "base/result.h"
#include "requests/failure.h"

namespace lockstep {

/// Prints an error to standard error as every command does.
void print_error(const Error& error);

/// Prints diagnostics to standard error, in the order of files and places, and how many there are.
void print_diagnostics(const Diagnostics& diagnostics);

/// Prints why a request failed, and returns the exit status.
Exit tell(const Failure& failure);

/// Writes what a command says to a file, or to standard output where `file` is empty; prints why it
/// cannot.  Whether it could.
bool write_answer(const std::filesystem::path& file, std::string_view text);

}  // namespace lockstep
