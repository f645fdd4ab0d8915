#include "run/run_in_progress.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "plan/case_facts.h"
#include "record/alike.h"
#include "record/machine.h"
#include "run/interrupts.h"
#include "run/task.h"

namespace lockstep {
namespace {
RunRecord begun_record(const RunSettings& settings) {
  RunRecord record;
  record.info = settings.resumed ? settings.resumed->info : settings.info;
  // What the log says of workers, too: a worker that has nothing left to do is not asked again.
  if (settings.resumed) record.environment = settings.resumed->environment;
  record.directory = settings.directory;
  return record;
}

}  // namespace

void InOrder::put(std::size_t index, Verdict verdict) {
  waiting_[index] = std::move(verdict);
  for (; next_ < waiting_.size() && waiting_[next_]; ++next_) reporter_.verdict(*waiting_[next_]);
}

void InOrder::flush() {
  for (; next_ < waiting_.size(); ++next_) {
    if (waiting_[next_]) reporter_.verdict(*waiting_[next_]);
  }
}

std::vector<Verdict> InOrder::take() {
  std::vector<Verdict> verdicts;
  for (auto& verdict : waiting_) {
    if (verdict) verdicts.push_back(std::move(*verdict));
  }
  return verdicts;
}

RunInProgress::RunInProgress(const Plan& plan, Engine& engine, const RunSettings& settings,
                             Reporter& reporter, RunLog log)
    : plan_(plan),
      engine_(engine),
      settings_(settings),
      reporter_(reporter),
      log_(std::move(log)),
      record_(begun_record(settings)),
      expectations_(settings.expectations, settings.conditions),
      in_order_(reporter, plan.items.size()),
      known_(plan.items.size(), false) {
  if (settings.operators != nullptr) coverage_.emplace(*settings.operators);
}

RunInProgress::~RunInProgress() {
  engine_.on_hello = nullptr;
  engine_.on_note = nullptr;
  engine_.on_started = nullptr;
}

void RunInProgress::note_environment(const std::string& name, const Json& values) {
  record_.environment[name] = values;
  if (written_) written_ = log_.environment(name, values);
}

void RunInProgress::hear_hello(const std::string& name, const Json& hello) {
  const Json environment = hello.value("environment", Json::object());
  note_environment(name, environment);
  const Json eager = record_.environment.value(settings_.workplace.eager.name, Json::object());
  for (const auto& [key, one, other] : other_pins(eager, environment)) {
    reporter_.note(fmt::format(
        "the {} worker has {} {}, eager {}: different versions may compute different results", name,
        key, other.dump(), one.dump()));
  }
  for (const auto& [key, cost] : environment.items()) {  // docs/design/protocol.md, `lacks NAME`
    if (key.starts_with("lacks ") && cost.is_string())
      reporter_.note(fmt::format("the {} worker {}: {}", name, key, cost.get<std::string>()));
  }
}

/// Workers that were asked something before the run are ready already.
void RunInProgress::tell_of_workers() {
  std::set<const Json*> heard = {engine_.hello_of(settings_.workplace.eager)};
  std::set<std::size_t> used;
  for (const PlanItem& item : plan_.items) used.insert(item.path);
  for (const std::size_t path : used) {
    const WorkerSpec worker = settings_.workplace.worker_of(plan_.paths[path]);
    const Json* hello = engine_.hello_of(worker);
    if (hello != nullptr && heard.insert(hello).second) hear_hello(worker.name, *hello);
  }
}

void RunInProgress::begin() {
  note_environment("machine",
                   settings_.machine.is_null() ? machine_environment() : settings_.machine);
  const WorkerSpec& eager = settings_.workplace.eager;
  const Json* hello = engine_.hello_of(eager);
  note_environment(eager.name,
                   hello == nullptr ? Json::object() : hello->value("environment", Json::object()));
  engine_.on_hello = [this](const std::string& name, const Json& said) { hear_hello(name, said); };
  engine_.on_note = [this](const std::string& text) { reporter_.note(text); };
  engine_.on_started = [this] { reporter_.running(engine_.running_ids(), engine_.starting()); };
  reporter_.run_started(record_.info);
  tell_of_workers();
}

void RunInProgress::judged(std::vector<Verdict> verdicts, bool is_new) {
  std::vector<std::size_t> items;
  for (Verdict& verdict : verdicts) {
    const PlanItem& item = plan_.items[items.emplace_back(verdict.facts.index)];
    verdict.facts.index = item.place;
    expectations_.apply(verdict.facts, verdict.found, plan_.instances[item.instance].declared->id,
                        verdict.account);
    waive_front_end(verdict.found, plan_.paths[item.path], verdict.account);
  }
  if (is_new && written_) written_ = log_.verdicts(verdicts);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (coverage_) coverage_->add(verdicts[i]);
    if (is_new && verdicts[i].fails(settings_.strict)) ++failures_;
    in_order_.put(items[i], std::move(verdicts[i]));
  }
}

void RunInProgress::take_over_known() {
  std::vector<Verdict> resumed, reused;
  for (Verdict verdict : settings_.resumed ? settings_.resumed->verdicts : std::vector<Verdict>{}) {
    const auto item = find_item(plan_, verdict.facts);
    if (!item) continue;
    verdict.facts.index = *item;
    known_[*item] = true;
    resumed.push_back(std::move(verdict));
  }
  judged(std::move(resumed), false);
  for (std::size_t i = 0; settings_.cache && i < plan_.items.size(); ++i) {
    if (known_[i] || settings_.cache_keys[i].empty()) continue;
    auto found = settings_.cache->take(settings_.cache_keys[i]);
    if (!found || found->facts.id != plan_.items[i].id) continue;
    found->facts.index = i;
    known_[i] = true;
    reused.push_back(with_repro(std::move(*found)));
  }
  judged(std::move(reused), true);
}

Verdict RunInProgress::with_repro(Verdict verdict) const {
  verdict.origin.repro = settings_.launcher + " " + settings_.command + " " +
                         shell_quote(verdict.facts.id) + settings_.repro_options;
  return verdict;
}

void RunInProgress::take(Verdict verdict) {
  if (settings_.cache && !settings_.cache_keys[verdict.facts.index].empty()) {
    const auto written = settings_.cache->keep(settings_.cache_keys[verdict.facts.index], verdict,
                                               settings_.info.started);
    if (!written) reporter_.note(written.error().message);
  }
  std::vector<Verdict> one;
  one.push_back(with_repro(std::move(verdict)));
  judged(std::move(one), true);
}

bool RunInProgress::would_fail(Verdict verdict) const {
  const PlanItem& item = plan_.items[verdict.facts.index];
  expectations_.tell(verdict.facts, verdict.found, plan_.instances[item.instance].declared->id,
                     verdict.account);
  waive_front_end(verdict.found, plan_.paths[item.path], verdict.account);
  return verdict.fails(settings_.strict);
}

bool RunInProgress::stopped() const {
  return !written_ || interrupted() ||
         (settings_.max_failures > 0 && failures_ >= settings_.max_failures);
}

DriverHooks RunInProgress::hooks() {
  return {.on_verdict = [this](Verdict verdict) { take(std::move(verdict)); },
          .on_note = [this](const std::string& text) { reporter_.note(text); },
          .on_environment = [this](const std::string& name,
                                   const Json& values) { note_environment(name, values); },
          .stopped = [this] { return stopped(); },
          .worth_retrying = [this](const Verdict& verdict) { return would_fail(verdict); },
          .stays_alone =
              [this](std::size_t item) {
                const Instance& instance = plan_.instances[plan_.items[item].instance];
                return expectations_.expects_failure(case_facts(plan_, item, ""),
                                                     instance.declared->id);
              }};
}

Result<void> RunInProgress::drive() {
  auto begun = settings_.cluster
                   ? drive_cluster(plan_, settings_, record_.environment, known_, hooks())
                   : drive_here(plan_, engine_, settings_, known_, hooks());
  if (!begun) return tl::unexpected(begun.error());
  Driver& driver = **begun;
  while (!driver.done() && !stopped()) {
    if (auto stepped = driver.step(); !stepped) return stepped;
    reporter_.running(driver.running(), driver.starting());
    reporter_.tick();
    if (take_question()) reporter_.note(driver.report());
  }
  if (!stopped()) driver.finish();
  return {};
}

Result<RunRecord> RunInProgress::end() {
  RunEnd end;
  end.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  end.interrupted = interrupted();
  end.unmatched =
      stopped() ? std::vector<UnmatchedExpectation>{} : expectations_.unmatched(settings_.scope);
  if (coverage_) end.coverage = coverage_->counts();
  if (written_) written_ = log_.end(end);
  if (!written_) return tl::unexpected(written_.error());
  in_order_.flush();
  record_.verdicts = in_order_.take();
  record_.end = end;
  reporter_.run_ended(record_);
  return std::move(record_);
}

}  // namespace lockstep
