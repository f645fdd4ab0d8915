#pragma once

#include <filesystem>
#include <string>

#include "requests/requests.h"

namespace lockstep {

/// A variable of the environment; empty: it is not set.
std::string environment_variable(const char* name);

/// What the environment says of the place; `directory` is where a request was made.
Surroundings surroundings_of_environment(std::filesystem::path directory);

/// Where resident workers listen, whether or not one may be used here.
std::filesystem::path resident_folder(const Surroundings& at);

/// Fills in what nobody said.
void complete(Surroundings& at);

}  // namespace lockstep
