#include "commands/showing.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "certificate/page.h"
#include "certificate/submission.h"
#include "commands/errors.h"

namespace lockstep {

Result<void> show_certificate(const Showing& showing, const std::string& launcher,
                              const Json& statement, const std::filesystem::path& file,
                              const std::string& digest) {
  print_people(stdout, statement_text(statement));
  Result<void> written;
  if (!showing.page.empty())
    written = write_file(showing.page,
                         conformance_page(statement, digest,
                                          fmt::format("{} verify {}", launcher,
                                                      shell_quote(file.filename().string()))));
  if (written && !showing.badge.empty())
    written = write_file(showing.badge, conformance_badge(statement));
  return written;
}

}  // namespace lockstep
