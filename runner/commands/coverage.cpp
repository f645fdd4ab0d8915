#include "record/coverage.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/python_worker.h"
#include "record/log.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

Result<OpInfoNames> opinfo_names(const Options& options) {
  const auto answer = ask_python_worker(options, "opinfo", Json::object(),
                                        {python_path(session_settings(options))});
  if (!answer) return tl::unexpected(answer.error());
  if (const auto error = answer->find("error"); error != answer->end()) {
    return fail(one_line(error->get<std::string>()),
                "install what it needs beside torch: pip install expecttest");
  }
  return answer->at("names").get<OpInfoNames>();
}

/// Whether a log is of the torch whose operators are at hand.
Result<void> of_this_torch(const RunRecord& record, const Registry& registry) {
  const Json eager = record.environment.value("eager", Json::object());
  const std::string torch = eager.value("torch", std::string());
  if (torch.empty() || torch == registry.torch()) return {};
  return fail(fmt::format("the log {} is of torch {}, and the operators at hand are those of torch "
                          "{}",
                          record.directory.string(), torch, registry.torch()),
              "choose its torch: LOCKSTEP_TORCH or LOCKSTEP_PYTHON");
}

}  // namespace

Exit command_coverage(const Options& options) {
  auto session = open_session(options);
  if (!session) return session.error();
  if (auto operators = need_operators(*session); !operators) return operators.error();
  const Registry& registry = *session->operators();
  Coverage coverage(registry);
  std::vector<fs::path> logs(options.select.begin(), options.select.end());
  if (logs.empty()) logs.push_back(options.cache / "runs" / "latest");
  std::string by;
  for (const fs::path& log : logs) {
    const auto record = read_log(log);
    if (!record) {
      print_error(record.error());
      return Exit::usage;
    }
    if (auto same = of_this_torch(*record, registry); !same) {
      print_error(same.error());
      return Exit::usage;
    }
    for (const Verdict& verdict : record->verdicts) coverage.add(verdict);
    if (logs.size() > 1)
      by = fmt::format(", by {} logs", logs.size());
    else if (!record->info.level.empty())
      by = ", by the level " + record->info.level;
    if (!record->complete())
      fmt::print(stderr, "the log {} is not complete: what it lacks is not counted\n",
                 log.string());
  }
  std::optional<CoverageCount> opinfo;
  if (options.opinfo) {
    const auto names = opinfo_names(options);
    if (!names) {
      print_error(names.error());
      return Exit::usage;
    }
    opinfo = coverage.count(*names);
  }
  std::string text;
  if (options.json) {
    Json json = to_json(coverage);
    if (opinfo) json["opinfo"] = to_json(*opinfo);
    text = json.dump(1) + "\n";
  } else {
    text = fmt::format("executed and judged, of the overloads of torch {}{}\n\n", registry.torch(),
                       by) +
           coverage_text(coverage, options.missing);
    if (opinfo) text += coverage_text(*opinfo, options.missing);
  }
  return write_answer(options.out, text) ? Exit::ok : Exit::internal;
}

}  // namespace lockstep
