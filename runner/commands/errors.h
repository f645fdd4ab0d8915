#pragma once

#include "base/diagnostic.h"
#include "base/result.h"

namespace lockstep {

/// Prints an error to standard error as every command does.
void print_error(const Error& error);

/// Prints diagnostics to standard error, in the order of files and places, and how many there are.
void print_diagnostics(const Diagnostics& diagnostics);

}  // namespace lockstep
