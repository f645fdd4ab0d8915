#pragma once

#include <string>
#include <vector>

#include "requests/failure.h"
#include "requests/requests.h"

namespace lockstep {

/// The flags whose report goes to standard output, such as `--junit -`.
std::vector<std::string> on_standard_output(const Reporting& reporting);

/// Whether there is such a one: then what people read goes to standard error.
bool writes_to_stdout(const Reporting& reporting);

/// Refuses what cannot be together.
Answer<void> check(const Reporting& reporting);

/// The file of proposals; "-" is standard output, empty: none.
std::string proposals_file(const Reporting& reporting, const Surroundings& at);

}  // namespace lockstep
