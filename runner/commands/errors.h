#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string_view>

#include "base/diagnostic.h"
#include "base/reading_memory.h"
#include "base/result.h"
#include "requests/failure.h"

namespace lockstep {

/// Prints what people read, in which there may be text of strangers: cleaned (reports/text.h).
void print_people(std::FILE* stream, std::string_view text);

/// Prints an error to standard error as every command does.
void print_error(const Error& error);

/// Prints diagnostics to standard error, in the order of files and places, and how many there are.
void print_diagnostics(const Diagnostics& diagnostics);

/// Prints why a request failed, and returns the exit status.
Exit tell(const Failure& failure);

/// Carries out a command that reads what strangers wrote: within ReadingMemory, unless the command
/// lifts it; where that does not suffice, the command fails and says so.
Exit while_reading(const std::function<Exit(ReadingMemory& memory)>& command);

/// Writes what a command says to a file, or to standard output where `file` is empty; prints why it
/// cannot.  Whether it could.
bool write_answer(const std::filesystem::path& file, std::string_view text);

}  // namespace lockstep
