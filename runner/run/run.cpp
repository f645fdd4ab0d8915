#include "run/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "record/alike.h"
#include "run/run_in_progress.h"

namespace lockstep {
Result<void> can_resume(const RunRecord& before, const RunInfo& now, const Json& environment) {
  if (const auto other = other_digests(before.info, now); !other.empty()) {
    return fail(fmt::format("the log is of a run with other {}", fmt::join(other, ", ")),
                "resume with the same ones, or begin a new run");
  }
  if (before.info.plan != now.plan) {
    return fail("the log is of another plan",
                "the torch, the devices or the paths that can be used here have changed: begin a "
                "new run");
  }
  const Json eager = before.environment.value("eager", Json::object());
  if (const auto others = other_settings(eager, environment); !others.empty()) {
    const auto& [key, then, is] = others.front();
    return fail(
        fmt::format("the log is of a run with {} {}; now it is {}", key, then.dump(), is.dump()),
        "resume with the same torch on the same machine, or begin a new run");
  }
  return {};
}

Result<RunRecord> execute(const Plan& plan, Engine& engine, const RunSettings& settings,
                          Reporter& reporter) {
  auto log = settings.log_to >= 0 ? RunLog::to(settings.log_to, settings.info)
             : settings.resumed   ? RunLog::append_to(settings.directory, settings.info)
                                  : RunLog::create(settings.directory, settings.info);
  if (!log) return tl::unexpected(log.error());
  RunInProgress run(plan, engine, settings, reporter, std::move(*log));
  run.begin();
  run.take_over_known();
  if (auto driven = run.drive(); !driven) return tl::unexpected(driven.error());
  return run.end();
}

}  // namespace lockstep
