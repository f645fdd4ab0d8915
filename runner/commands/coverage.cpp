#include "record/coverage.h"

#include <fmt/format.h>

#include <fstream>

#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;

Exit command_coverage(const Options& options) {
  if (options.select.size() > 1) {
    print_error({"found more than one log, expected one", ""});
    return Exit::usage;
  }
  auto session = open_session(options);
  if (!session) return session.error();
  if (auto operators = need_operators(*session); !operators) return operators.error();
  const fs::path log =
      options.select.empty() ? options.cache / "runs" / "latest" : fs::path(options.select.front());
  auto record = read_log(log);
  if (!record) {
    print_error(record.error());
    return Exit::usage;
  }
  const Registry& registry = *session->operators();
  const Json eager = record->environment.value("eager", Json::object());
  const std::string torch = eager.value("torch", std::string());
  if (!torch.empty() && torch != registry.torch()) {
    print_error({fmt::format("the log is of torch {}, and the operators at hand are those of torch "
                             "{}",
                             torch, registry.torch()),
                 "choose its torch: LOCKSTEP_TORCH or LOCKSTEP_PYTHON"});
    return Exit::usage;
  }
  const Coverage coverage = coverage_of(*record, registry);
  const std::string text =
      options.json
          ? to_json(coverage).dump(1) + "\n"
          : fmt::format("executed and judged, of the overloads of torch {}{}\n\n", registry.torch(),
                        record->info.level.empty() ? "" : ", by the level " + record->info.level) +
                coverage_text(coverage, options.missing);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else if (!(std::ofstream(options.out) << text).flush()) {
    print_error({fmt::format("cannot write {}", options.out.string()), ""});
    return Exit::internal;
  }
  if (!record->complete())
    fmt::print(stderr, "the log is not complete: what it lacks is not counted\n");
  return Exit::ok;
}

}  // namespace lockstep
