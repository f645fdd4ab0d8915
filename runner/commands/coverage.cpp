#include "record/coverage.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "record/log.h"
#include "requests/open.h"
#include "run/python_worker.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

Result<OpInfoNames> opinfo_names(const SessionSettings& settings) {
  const auto answer = ask_python_worker(compiled_or_resident(settings), "opinfo", Json::object());
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

/// Counts the coverage of logs; returns their names.
Result<std::string> count_logs(const std::vector<fs::path>& logs, const Registry& registry,
                               Coverage& coverage) {
  std::string by;
  for (const fs::path& log : logs) {
    const auto record = read_log(log);
    if (!record) return tl::unexpected(record.error());
    if (auto same = of_this_torch(*record, registry); !same) return tl::unexpected(same.error());
    for (const Verdict& verdict : record->verdicts) coverage.add(verdict);
    if (logs.size() > 1)
      by = fmt::format(", by {} logs", logs.size());
    else if (!record->info.level.empty())
      by = ", by the level " + record->info.level;
    if (!record->complete())
      fmt::print(stderr, "the log {} is not complete: what it lacks is not counted\n",
                 log.string());
  }
  return by;
}

std::string text_of(const CoverageOptions& options, const Coverage& coverage,
                    const std::optional<CoverageCount>& opinfo, const std::string& of) {
  if (options.json) {
    Json json = to_json(coverage);
    if (opinfo) json["opinfo"] = to_json(*opinfo);
    return json.dump(1) + "\n";
  }
  std::string text = fmt::format("executed and judged, of the overloads of torch {}\n\n", of) +
                     coverage_text(coverage, options.missing);
  return opinfo ? text + coverage_text(*opinfo, options.missing) : text;
}

}  // namespace

Exit command_coverage(const CoverageOptions& options) {
  auto session = open_session(options.basis, Torch::needed);
  if (!session) return tell(session.error());
  if (auto operators = need_operators(*session); !operators) return tell(operators.error());
  const Registry& registry = *session->operators();
  Coverage coverage(registry);
  std::vector<fs::path> logs = options.logs;
  if (logs.empty()) logs.push_back(options.basis.at.runs / "latest");
  const auto by = count_logs(logs, registry, coverage);
  if (!by) {
    print_error(by.error());
    return Exit::usage;
  }
  std::optional<CoverageCount> opinfo;
  if (options.opinfo) {
    const auto names = opinfo_names(session->settings());
    if (!names) {
      print_error(names.error());
      return Exit::usage;
    }
    opinfo = coverage.count(*names);
  }
  const std::string text = text_of(options, coverage, opinfo, registry.torch() + *by);
  return write_answer(options.out, text) ? Exit::ok : Exit::internal;
}

}  // namespace lockstep
