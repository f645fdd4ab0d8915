#include "explain/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/files.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// No worker may make us count for ever.
constexpr std::int64_t kMostApplications = 1 << 20;

/// torch's bisector as one execution finds it: a folder with its files.
class Bisector {
 public:
  Bisector(const Suspect& suspect, const fs::path& scratch, Trials& trials)
      : suspect_(suspect), scratch_(scratch), trials_(trials) {}

  /// Executes with `subsystem` in a state of the bisector's; with `last` all its applications up to
  /// that one.  Nothing: no time, or torch has no bisector.
  std::optional<Verdict> run(const std::string& backend, const std::string& subsystem,
                             const std::string& state, std::int64_t last = -1) {
    const auto trial = prepare(backend, subsystem, state, last);
    return trial ? trials_.run_one(*trial).verdict : std::nullopt;
  }

  /// Leaves out each subsystem, whole: a verdict for each, side by side.
  std::vector<std::optional<Verdict>> run_without_each(const BisectedBackend& table) {
    std::vector<Trial> trials;
    for (const std::string& subsystem : table.subsystems) {
      auto trial = prepare(table.backend, subsystem, "test_disable", -1);
      if (!trial) return std::vector<std::optional<Verdict>>(table.subsystems.size());
      trials.push_back(std::move(*trial));
    }
    std::vector<std::optional<Verdict>> verdicts;
    for (auto& tried : trials_.run(trials)) verdicts.push_back(std::move(tried.front().verdict));
    return verdicts;
  }

  /// How many applications there were, of the execution before, after `find_max_bounds`.
  std::int64_t applications() const {
    const std::string text = read(subsystem_ + "_bisect_range.txt");
    const std::size_t at = text.rfind("high=");
    return at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + 5, nullptr, 10);
  }

  /// What torch says of an application, of the execution before.
  std::string told(std::int64_t number) const {
    std::istringstream lines(read(subsystem_ + "_call_counter_debug_info.txt"));
    const std::string key = fmt::format("{}=", number);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(key)) return line.substr(key.size());
    }
    return "";
  }

 private:
  /// The next execution, and its folder; nothing: the folder cannot be written.
  std::optional<Trial> prepare(const std::string& backend, const std::string& subsystem,
                               const std::string& state, std::int64_t last) {
    backend_ = backend;
    subsystem_ = subsystem;
    folder_ = scratch_ / fmt::format("bisect{}", number_++);
    std::error_code error;
    fs::create_directories(folder_ / "bisect" / backend, error);
    const auto write = [&](const fs::path& file, const std::string& text) {
      return write_file(folder_ / "bisect" / file, text).has_value();
    };
    bool written =
        write("bisect_status.txt", fmt::format("backend={}\nsubsystem={}\n", backend, subsystem));
    written = written && write(fs::path(backend) / (subsystem + "_run_state.txt"), state);
    if (last >= 0)
      written = written && write(fs::path(backend) / (subsystem + "_bisect_range.txt"),
                                 fmt::format("low={0}\nhigh={0}\n", last));
    if (!written) return std::nullopt;
    Path path = suspect_.path;
    Json& config = path.declared["config"];
    if (!config.is_object()) config = Json::object();
    const std::string bisector = "torch._inductor.compiler_bisector.CompilerBisector.";
    config[bisector + "bisection_enabled"] = true;
    config[bisector + "in_process_cache"] = folder_.string();
    // What it leaves out is in no key of the caches of graphs.  That of compiled sources stays: the
    // same source is the same library, and compiling it is the dearest part.
    config["torch._inductor.config.fx_graph_cache"] = false;
    config["torch._functorch.config.enable_autograd_cache"] = false;
    const std::string what = last < 0 ? state : fmt::format("up to {}", last);
    return Trial{
        fmt::format("{} ({} {})", suspect_.name, subsystem, what), suspect_.declared, {path}};
  }

  std::string read(const std::string& file) const {
    constexpr std::size_t kMost = 1 << 20;
    const auto text = read_file(folder_ / "bisect" / backend_ / file);
    return text ? text->substr(0, kMost) : "";
  }

  const Suspect& suspect_;
  fs::path scratch_, folder_;
  Trials& trials_;
  std::string backend_, subsystem_;
  int number_ = 0;
};

}  // namespace

ExplainedPass find_pass(const Suspect& suspect, const std::vector<BisectedBackend>& tables,
                        const fs::path& scratch, Trials& trials) {
  ExplainedPass pass;
  const Json backend = suspect.path.declared.value("backend", Json());
  const auto table = std::find_if(tables.begin(), tables.end(), [&](const BisectedBackend& each) {
    return backend == each.backend;
  });
  if (table == tables.end()) {
    pass.why = "torch's bisector takes nothing of this path apart";
    return pass;
  }
  Bisector bisector(suspect, scratch, trials);
  pass.why = "leaving out whole subsystems does not end it";
  const auto all_without = bisector.run_without_each(*table);
  for (std::size_t i = 0; i < table->subsystems.size(); ++i) {
    const std::string& subsystem = table->subsystems[i];
    const auto& without = all_without[i];
    if (!without || without->found.status == Status::unsupported) {
      pass.why = without ? without->found.reason : "no time";
      return pass;
    }
    if (has(*without, suspect.fault) || !info(without->found.status).judged()) continue;
    pass.backend = table->backend;
    pass.subsystem = subsystem;
    pass.why.clear();
    const auto with = bisector.run(table->backend, subsystem, "find_max_bounds");
    std::int64_t low = 0, high = bisector.applications();
    if (!with || high < 0 || high > kMostApplications) return pass;
    while (low < high) {  // the first without which it conforms
      const std::int64_t middle = (low + high) / 2;
      const auto some = bisector.run(table->backend, subsystem, "bisect", middle);
      if (!some) return pass;
      if (has(*some, suspect.fault))
        high = middle;
      else
        low = middle + 1;
    }
    if (!bisector.run(table->backend, subsystem, "bisect", low)) return pass;
    pass.number = low;
    pass.what = bisector.told(low);
    return pass;
  }
  return pass;
}

}  // namespace lockstep
