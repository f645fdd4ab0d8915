#include "run/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/text.h"
#include "plan/case_facts.h"
#include "record/alike.h"
#include "record/coverage.h"
#include "record/draw.h"
#include "record/machine.h"
#include "run/absent_paths.h"
#include "run/scheduler.h"
#include "run/task.h"

namespace lockstep {
namespace {

volatile sig_atomic_t g_interrupts = 0;
volatile sig_atomic_t g_asked = 0;

void on_question(int) { g_asked = 1; }

void on_signal(int) {
  const int count = g_interrupts + 1;
  g_interrupts = count;
  if (count > 1) ::_exit(130);  // the kernel takes the workers along: they die with this thread
}

/// Passes verdicts on in the order of the plan, whatever the order in which they come.
class InOrder {
 public:
  InOrder(Reporter& reporter, std::size_t count) : reporter_(reporter), waiting_(count) {}
  /// The verdict at a place of the plan.
  void put(std::size_t index, Verdict verdict) {
    waiting_[index] = std::move(verdict);
    pass_on();
  }
  /// What comes after a gap that will not be filled any more.
  void flush() {
    for (; next_ < waiting_.size(); ++next_) {
      if (waiting_[next_]) reporter_.verdict(*waiting_[next_]);
    }
  }
  std::vector<Verdict> take() {
    std::vector<Verdict> verdicts;
    for (auto& verdict : waiting_) {
      if (verdict) verdicts.push_back(std::move(*verdict));
    }
    return verdicts;
  }

 private:
  void pass_on() {
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_) reporter_.verdict(*waiting_[next_]);
  }
  Reporter& reporter_;
  std::vector<std::optional<Verdict>> waiting_;
  std::size_t next_ = 0;
};

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll returns at once
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  action.sa_handler = on_question;
  ::sigaction(SIGUSR1, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that grows past its limit is an error like a full disk
}

bool interrupted() { return g_interrupts > 0; }

Result<void> can_resume(const RunRecord& before, const RunInfo& now, const Json& environment) {
  if (before.info.format != kLogFormat) {
    return fail(fmt::format("the log has format {}, this Lockstep goes on with format {}",
                            before.info.format, kLogFormat),
                "go on with the Lockstep that began it, or begin a new run");
  }
  if (const auto other = other_digests(before.info, now); !other.empty()) {
    return fail(fmt::format("the log is of a run with other {}", fmt::join(other, ", ")),
                "go on with those of then, or begin a new run");
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
        "resume with the torch and the machine that it was begun with, or begin a new run");
  }
  return {};
}

Result<RunRecord> execute(const Plan& plan, Engine& engine, const RunSettings& settings,
                          Reporter& reporter) {
  const auto began = std::chrono::steady_clock::now();
  auto opened = settings.log_to >= 0 ? RunLog::to(settings.log_to, settings.info)
                : settings.resumed   ? RunLog::append_to(settings.directory, settings.info)
                                     : RunLog::create(settings.directory, settings.info);
  if (!opened) return tl::unexpected(opened.error());
  RunLog& log = *opened;
  RunRecord record;
  record.info = settings.resumed ? settings.resumed->info : settings.info;
  // What the log says of workers, too: a worker that has nothing left to do is not asked again.
  if (settings.resumed) record.environment = settings.resumed->environment;
  Result<void> written;  // the first failure to write ends the run
  std::optional<Coverage> coverage;
  if (settings.operators != nullptr) coverage.emplace(*settings.operators);
  const auto note_environment = [&](const std::string& name, const Json& values) {
    record.environment[name] = values;
    if (written) written = log.environment(name, values);
  };
  note_environment("machine",
                   settings.machine.is_null() ? machine_environment() : settings.machine);
  const Json* eager_hello = engine.hello_of(settings.eager);
  note_environment(settings.eager.name, eager_hello == nullptr
                                            ? Json::object()
                                            : eager_hello->value("environment", Json::object()));
  std::set<std::size_t> used;
  for (const PlanItem& item : plan.items) used.insert(item.path);
  engine.on_hello = [&](const std::string& name, const Json& hello) {
    const Json environment = hello.value("environment", Json::object());
    note_environment(name, environment);
    const Json eager = record.environment.value(settings.eager.name, Json::object());
    for (const auto& [key, one, other] : other_pins(eager, environment)) {
      reporter.note(fmt::format(
          "the {} worker has {} {}, eager {}: where they differ, so may what both compute", name,
          key, other.dump(), one.dump()));
    }
    for (const auto& [key, cost] : environment.items()) {  // workers/PROTOCOL.md, `lacks NAME`
      if (key.starts_with("lacks ") && cost.is_string())
        reporter.note(fmt::format("the {} worker {}: {}", name, key, cost.get<std::string>()));
    }
  };
  engine.on_note = [&](const std::string& text) { reporter.note(text); };
  const auto tell_running = [&] { reporter.running(engine.running_ids(), engine.starting()); };
  engine.on_started = tell_running;

  record.directory = settings.directory;
  reporter.run_started(record.info);
  // Workers that were asked something before the run are ready already.
  std::set<const Json*> told = {eager_hello};
  for (const std::size_t path : used) {
    const WorkerSpec worker = settings.worker_of(plan.paths[path]);
    const Json* hello = engine.hello_of(worker);
    if (hello != nullptr && told.insert(hello).second) engine.on_hello(worker.name, *hello);
  }
  Expectations expectations(settings.expectations, settings.conditions);
  InOrder in_order(reporter, plan.items.size());
  std::size_t failures = 0;
  const auto judged = [&](Verdict verdict, bool is_new) {
    const std::size_t index = verdict.facts.index;
    const PlanItem& item = plan.items[index];
    verdict.facts.index = item.place;
    expectations.apply(verdict.facts, verdict.found, plan.instances[item.instance].declared->id,
                       verdict.account);
    waive_front_end(verdict.found, plan.paths[item.path], verdict.account);
    if (is_new && written) written = log.verdict(verdict);
    if (coverage) coverage->add(verdict);
    if (is_new && verdict.fails(settings.strict)) ++failures;
    in_order.put(index, std::move(verdict));
  };

  std::vector<bool> skip(plan.items.size(), false);
  for (Verdict verdict : settings.resumed ? settings.resumed->verdicts : std::vector<Verdict>{}) {
    const auto item = find_item(plan, verdict.facts);
    if (!item) continue;
    verdict.facts.index = *item;
    skip[verdict.facts.index] = true;
    judged(std::move(verdict), false);
  }

  const auto with_repro = [&](Verdict verdict) {
    verdict.origin.repro = settings.launcher + " " + settings.command + " " +
                           shell_quote(verdict.facts.id) + settings.repro_options;
    return verdict;
  };
  for (std::size_t i = 0; settings.cache && i < plan.items.size(); ++i) {
    const Verdict* known = skip[i] || settings.cache_keys[i].empty()
                               ? nullptr
                               : settings.cache->find(settings.cache_keys[i]);
    if (known == nullptr || known->facts.id != plan.items[i].id) continue;
    Verdict verdict = with_repro(*known);
    verdict.facts.index = i;
    skip[i] = true;
    judged(std::move(verdict), true);
  }

  const auto take = [&](Verdict verdict) {
    if (settings.cache && !settings.cache_keys[verdict.facts.index].empty()) {
      const auto kept =
          settings.cache->keep(settings.cache_keys[verdict.facts.index], verdict, settings.info.started);
      if (!kept) reporter.note(kept.error().message);
    }
    judged(with_repro(std::move(verdict)), true);
  };
  const auto stopped = [&] {
    return !written || interrupted() ||
           (settings.max_failures > 0 && failures >= settings.max_failures);
  };
  const auto note = [&](const std::string& text) { reporter.note(text); };
  const auto execute_elsewhere = [&]() -> Result<void> {
    Dispatcher dispatcher(plan, settings.info, record.environment, settings.eager.name, skip,
                          settings.cluster->seconds);
    dispatcher.on_verdict = [&](Verdict verdict) {
      if (!stopped()) take(std::move(verdict));
    };
    dispatcher.on_note = note;
    dispatcher.on_environment = note_environment;
    if (dispatcher.done()) return {};
    const std::filesystem::path said = settings.directory / "worker-cluster.log";
    note(fmt::format("connecting with the cluster; the first time, this sets Dask up ({})",
                     said.string()));
    auto cluster = Cluster::connect(*settings.cluster, said, dispatcher);
    if (!cluster) return tl::unexpected(cluster.error());
    while (!dispatcher.done() && !stopped()) {
      if (auto stepped = cluster->step(0.25); !stepped) return stepped;
      reporter.running(dispatcher.running(), dispatcher.starting());
      reporter.tick();
      if (std::exchange(g_asked, 0) != 0) reporter.note(dispatcher.report());
    }
    return {};
  };
  const auto execute_here = [&]() -> Result<void> {
    const bool all_done = std::all_of(skip.begin(), skip.end(), [](bool done) { return done; });
    for (const std::size_t path : used) {
      if (!all_done && lacking_cpu_level(plan.paths[path], settings.cpu_levels).empty())
        engine.warm_up(settings.worker_of(plan.paths[path]));
    }
    SchedulerOptions options;
    options.jobs = settings.jobs;
    options.scratch = settings.scratch;
    options.eager = settings.eager;
    options.worker_of = settings.worker_of;
    if (eager_hello != nullptr)
      options.torch =
          eager_hello->value("environment", Json::object()).value("torch", std::string());
    options.cpu_levels = settings.cpu_levels;
    options.executions = std::max(1, settings.repeat);
    if (const std::optional<RepeatedPart>& part = settings.info.repeated_part) {
      options.executions = part->times;
      options.repeated = [drawn = *part](const std::string& id) {
        return is_drawn(drawn.seed, drawn.percent, id);
      };
    }
    if (settings.keep) options.keep = settings.directory;
    options.retries = settings.retries;
    options.worth_retrying = [&](Verdict verdict) {
      const PlanItem& item = plan.items[verdict.facts.index];
      expectations.tell(verdict.facts, verdict.found, plan.instances[item.instance].declared->id,
                        verdict.account);
      waive_front_end(verdict.found, plan.paths[item.path], verdict.account);
      return verdict.fails(settings.strict);
    };
    if (settings.orders) skip.assign(skip.size(), true);
    Scheduler scheduler(plan, engine, std::move(options), skip);
    scheduler.on_note = note;
    scheduler.on_verdict = take;
    while (!(settings.orders ? settings.orders->ended() : scheduler.done()) && !stopped()) {
      if (settings.orders) {
        auto items = settings.orders->take(plan.items.size());
        if (!items) return tl::unexpected(items.error());
        scheduler.add(*items);
      }
      scheduler.advance();
      engine.step(settings.orders ? 0.1 : 1);  // orders do not wake an engine
      while (!stopped() && scheduler.hear()) {
      }
      tell_running();
      reporter.tick();
      if (std::exchange(g_asked, 0) != 0) reporter.note(engine.report());
    }
    engine.abandon();
    return {};
  };
  const auto executed = settings.cluster ? execute_elsewhere() : execute_here();
  engine.on_hello = nullptr;
  engine.on_note = nullptr;
  engine.on_started = nullptr;
  if (!executed) return tl::unexpected(executed.error());

  RunEnd end;
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  end.interrupted = interrupted();
  end.unmatched =
      stopped() ? std::vector<UnmatchedExpectation>{} : expectations.unmatched(settings.scope);
  if (coverage) end.coverage = coverage->counts();
  if (written) written = log.end(end);
  if (!written) return tl::unexpected(written.error());
  in_order.flush();
  record.verdicts = in_order.take();
  record.end = end;
  reporter.run_ended(record);
  return record;
}

}  // namespace lockstep
