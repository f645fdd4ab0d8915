#include <fmt/format.h>

#include "base/launcher.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "engine/warm.h"
#include "requests/open.h"
#include "requests/surroundings.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;

Exit command_warm(const WarmOptions& options) {
  const Surroundings& at = options.basis.at;
  const fs::path folder = resident_folder(at);
  if (options.stop) {
    const int stopped = stop_residents(folder);
    fmt::print("{}\n", stopped == 0   ? "no worker was resident"
                       : stopped == 1 ? "ended the resident worker"
                                      : fmt::format("ended {} resident workers", stopped));
    return Exit::ok;
  }
  if (at.residents.empty()) {
    print_error({"CI is set: there no worker stays",
                 "each job starts its own; unset CI where this is your own machine"});
    return Exit::usage;
  }
  const SessionSettings settings = session_settings(options.basis);
  const WorkerSpec worker = compiled_worker(settings);
  Command command{worker.argv, worker.environment, folder / "log"};
  for (const std::string& word :
       {std::string(kResident), settings.compiler_cache.string(), fmt::format("{}", options.idle)})
    command.argv.push_back(word);
  const auto started = start_resident(folder, command);
  if (!started) {
    print_error({"no worker can be resident: " + started.error().message,
                 typed("doctor") + " says what is amiss"});
    return Exit::internal;
  }
  fmt::print("{}; it ends after {} without a command, or with {}\n",
             *started ? "a worker is resident" : "a worker was resident already",
             format_seconds(options.idle), typed("warm --stop"));
  return Exit::ok;
}

}  // namespace lockstep
