#include "requests/explaining.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "engine/scratch.h"
#include "record/log.h"
#include "reports/closing.h"
#include "requests/one_verdict.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

/// The layers on which an instance can be executed here, its own path last.
Result<std::vector<Path>> layers_of(const Plan& plan, const PlanItem& item, Session& session) {
  const Path& path = plan.paths[item.path];
  const std::vector<std::string> names = down_from(path.name, above_of(session.suite().paths));
  const std::string& instance = plan.instances[item.instance].id;
  PlanRequest request = session.plan_request(
      Filter().only({instance.substr(0, instance.rfind('@'))}).on_paths(names));
  auto absent = session.leave_out_absent(request, true);
  if (!absent) return tl::unexpected(absent.error());
  Diagnostics diagnostics;
  const Plan ladder = make_plan(request, diagnostics);
  std::vector<Path> layers;
  for (const std::string& name : names) {
    for (const PlanItem& layer : ladder.items) {
      const bool fits = ladder.instances[layer.instance].id == instance &&
                        ladder.paths[layer.path].name == name && layer.declared.unsupported.empty();
      if (fits && name != path.name) layers.push_back(ladder.paths[layer.path]);
    }
  }
  layers.push_back(path);
  return layers;
}

/// What fails, one verdict of each fingerprint before the second of any.
std::vector<Verdict*> in_order(RunRecord& record, bool strict) {
  std::vector<Verdict*> first, then;
  std::set<std::string> seen;
  for (Verdict& verdict : record.verdicts) {
    if (!verdict.fails(strict) || !info(verdict.found.status).expectable() ||
        verdict.account.standing == Standing::fixed)
      continue;
    bool is_new = false;
    for (const Fingerprint& fingerprint : fingerprints_of(verdict))
      is_new |= seen.insert(fingerprint.name).second;
    (is_new ? first : then).push_back(&verdict);
  }
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace

Answer<KnobTable> read_knobs(const Surroundings& at, const std::filesystem::path& own) {
  Diagnostics diagnostics;
  KnobTable table = read_knobs(at.home / "runner" / "explain" / "knobs.json", diagnostics);
  if (!own.empty()) {
    KnobTable more = read_knobs(own, diagnostics);
    table.knobs.insert(table.knobs.end(), more.knobs.begin(), more.knobs.end());
    table.bisected.insert(table.bisected.begin(), more.bisected.begin(), more.bisected.end());
  }
  if (diagnostics.empty()) return table;
  return refuse(std::move(diagnostics));
}

Result<Explanation> explanation_of(const PlanItem& item, const Plan& plan, Session& session,
                                   const KnobTable& table, Trials::Clock::time_point deadline) {
  auto layers = layers_of(plan, item, session);
  if (!layers) return tl::unexpected(layers.error());
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const Instance& instance = plan.instances[item.instance];
  Trials trials(session.engine(), session.workplace(), instance.device, deadline);
  return explain({item.id, instance.declared, std::move(*layers), table,
                  session.environment().value("torch", std::string()), session.operators(),
                  scratch->path(), session.settings().pace.threads},
                 trials);
}

Answer<void> explain_failing(RunRecord& record, Prepared& prepared, const KnobTable& table,
                             const std::function<void(const std::string&)>& note) {
  using Clock = Trials::Clock;
  /// Of one verdict: enough for most, and a run has many.
  constexpr std::chrono::seconds kOfOne{120};
  const Plan& plan = prepared.plan;
  const std::vector<Verdict*> failing = in_order(record, prepared.request.reporting.strict);
  if (failing.empty()) return {};
  auto log = RunLog::reopen(prepared.settings.directory);
  if (!log) return refuse(Exit::internal, log.error());
  const Clock::time_point end = deadline_in(prepared.request.explain_seconds);
  std::size_t explained = 0;
  for (Verdict* verdict : failing) {
    const auto item = std::find_if(plan.items.begin(), plan.items.end(), [&](const PlanItem& each) {
      return each.id == verdict->facts.id;
    });
    if (item == plan.items.end()) continue;  // of the part that was resumed
    if (interrupted() || Clock::now() >= end) break;
    auto found =
        explanation_of(*item, plan, *prepared.session, table, std::min(end, Clock::now() + kOfOne));
    if (interrupted()) break;
    if (!found) return refuse(Exit::internal, found.error());
    ++explained;
    // It may conform when it is executed again; then that is what the sentence says.
    verdict->account.explained = to_json(*found);
    if (auto written = log->explanation(verdict->account.explained); !written)
      return refuse(Exit::internal, written.error());
    note(fmt::format("{}\n    {}", verdict->facts.id, found->sentence));
  }
  if (explained < failing.size())
    note(
        fmt::format("{} of {} explained; {}", explained, counted(failing.size(), "failing verdict"),
                    interrupted() ? "interrupted"
                                  : "--explain=SECONDS gives more time, `explain ID` asks of one"));
  return {};
}

}  // namespace lockstep
