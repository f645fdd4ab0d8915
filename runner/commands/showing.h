#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "requests/requests.h"

namespace lockstep {

/// Prints what a certificate says, and writes the page and the badge that are asked for; `file` is
/// the archive's, `digest` that of its bytes.
Result<void> show_certificate(const Showing& showing, const std::string& launcher,
                              const Json& statement, const std::filesystem::path& file,
                              const std::string& digest);

}  // namespace lockstep
