#include "engine/local.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"
#include "engine/parts.h"
#include "engine/post_mortem.h"
#include "engine/saved.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Seconds that a worker has to exit: where somebody wants to know how it does, and at the end.
constexpr double kSecondsToExit = 5, kMoment = 0.5;

/// Removes a directory of a part, if there is one.
void remove_directory(const fs::path& directory) {
  std::error_code error;
  if (!directory.empty()) fs::remove_all(directory, error);
}

}  // namespace

LocalEngine::LocalEngine(LocalEngineOptions options)
    : options_(std::move(options)), woken_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  options_.hello["scratch"] = options_.scratch.string();
  // From modules that are not torch's; the caches of a worker may lie in there.
  if (const auto modules = options_.hello.find("modules");
      modules != options_.hello.end() && !modules->empty())
    options_.hello["hidden"] = {options_.scratch.string(), options_.logs.string()};
}

LocalEngine::~LocalEngine() {
  abandon();
  for (auto& [key, worker] : workers_) worker->dismiss(kMoment);
  ::close(woken_);
}

std::string LocalEngine::key_of(const WorkerSpec& spec) {
  std::string key;
  for (const std::string& word : spec.argv) key += word + '\n';
  auto environment = spec.environment;
  std::sort(environment.begin(), environment.end());
  for (const auto& [name, value] : environment) key += name + "=" + value + '\n';
  return key + spec.cpu_level;
}

LocalWorker& LocalEngine::worker_for(const WorkerSpec& spec) {
  std::unique_ptr<LocalWorker>& worker = workers_[key_of(spec)];
  if (!worker) {
    worker = std::make_unique<LocalWorker>(spec,
                                           options_.logs / fmt::format("worker-{}.log", spec.name));
  }
  start(*worker);
  return *worker;
}

void LocalEngine::start(LocalWorker& worker) {
  if (worker.start(options_.hello) && on_note)
    on_note(fmt::format("starting the {} worker", worker.spec().name));
}

void LocalEngine::warm_up(const WorkerSpec& spec) { worker_for(spec); }

std::string LocalEngine::dismiss(const WorkerSpec& spec) {
  const auto found = workers_.find(key_of(spec));
  return found == workers_.end() ? "" : found->second->dismiss(kSecondsToExit);
}

void LocalEngine::submit(Job job) {
  for (const JobPart& part : job.parts) worker_for(part.worker);
  enqueue({.job = std::move(job)});
}

void LocalEngine::enqueue(Execution execution) {
  execution.worker = &worker_for(execution.current().worker);
  queue_.add(std::move(execution));
}

std::size_t LocalEngine::wanted() const {
  // A few more than there are slots, so that none waits for the next to be prepared; and where
  // there are batches, the next one.
  return std::max(options_.jobs * 2 + 2, queue_.largest_batch() * 2);
}

std::vector<std::string> LocalEngine::running_ids() const {
  std::vector<std::string> ids;
  for (const Batch& batch : batches_) ids.push_back(batch.first().execution.job.id);
  return ids;
}

std::vector<std::string> LocalEngine::starting() const {
  std::vector<std::string> names;
  for (const auto& [key, worker] : workers_) {
    if (worker->connection() != nullptr && !worker->ready()) names.push_back(worker->spec().name);
  }
  return names;
}

std::string LocalEngine::report() const {
  const auto now = Clock::now();
  const auto seconds_since = [&](Clock::time_point then) {
    return format_seconds(std::chrono::duration<double>(now - then).count());
  };
  std::size_t queued = queue_.size();
  std::string lines;
  for (const Batch& batch : batches_) {
    const SentExecution& sent = batch.first();
    const std::size_t behind = batch.executions.size() - 1;
    queued += behind;
    lines += fmt::format("  {}: {} in the stage `{}`, {} in all{}{}\n", sent.execution.job.id,
                         seconds_since(sent.stage_began), sent.stage, seconds_since(sent.began),
                         batch.pid > 0 ? fmt::format(" (process {})", batch.pid) : "",
                         behind > 0 ? fmt::format("; {} behind it in its batch", behind) : "");
  }
  for (const auto& [key, worker] : workers_) {
    if (worker->connection() == nullptr) continue;
    lines += fmt::format("  the {} worker (process {}): {}\n", worker->spec().name,
                         worker->connection()->process().pid(), worker->describe(now));
  }
  return fmt::format("{} under way, {} queued\n{}", batches_.size(), queued, lines);
}

const Json* LocalEngine::hello_of(const WorkerSpec& spec) const {
  const auto found = workers_.find(key_of(spec));
  return found == workers_.end() || found->second->hello().is_null() ? nullptr
                                                                     : &found->second->hello();
}

std::string LocalEngine::failure_of(const WorkerSpec& spec) const {
  const auto found = workers_.find(key_of(spec));
  return found == workers_.end() ? "" : found->second->failure();
}

void LocalEngine::abandon() {
  queue_.clear();
  for (const Batch& batch : batches_) {
    // Before its child, since it would go on with the next one.
    if (batch.executions.size() > 1) batch.worker->end();
  }
  for (const Batch& batch : batches_) {
    if (batch.worker->connection() != nullptr) kill_group(batch.pid);
  }
  batches_.clear();
}

std::size_t LocalEngine::slots_of(const Execution& execution) const {
  const int each = std::max(1, options_.hello.value("threads", 1));
  const int slots = (std::max(execution.threads(), 1) + each - 1) / each;
  return std::min(static_cast<std::size_t>(slots), options_.jobs);
}

bool LocalEngine::has_room(const LocalWorker& worker, bool alone) const {
  std::size_t busy = 0;
  for (const Batch& batch : batches_) {
    if (batch.worker != &worker) continue;
    if (alone || batch.first().execution.alone) return false;
    ++busy;
  }
  return busy < worker.concurrent();
}

void LocalEngine::tell(std::list<Execution> executions) {
  Batch batch;
  batch.worker = executions.front().worker;
  std::vector<Json> runs;
  for (Execution& execution : executions) {
    SentExecution sent;
    sent.execution = std::move(execution);
    sent.run = next_run_++;
    sent.out = options_.scratch / fmt::format("out{}", sent.run);
    std::error_code error;
    fs::create_directory(sent.out, error);
    sent.sent_held = batch.worker->digests(sent.execution.device());
    runs.push_back(run_message(
        sent.run, sent.execution.current().message, sent.execution.job.storages, sent.out,
        sent.execution.before.empty() ? sent.execution.job.before : sent.execution.before,
        sent.sent_held ? &sent.execution.job.held : nullptr));
    batch.executions.push_back(std::move(sent));
  }
  batch.worker->connection()->send(runs.size() == 1 ? runs.front() : batch_message(runs));
  batches_.push_back(std::move(batch));
  begin(batches_.back(), Clock::now());
}

void LocalEngine::begin(Batch& batch, Clock::time_point now) {
  batch.begin(now);
  if (on_started) on_started();
}

void LocalEngine::dispatch() {
  std::set<const LocalWorker*>
      reserved;  // a job waits for them to be free, so that it can be alone
  for (auto next = queue_.begin(); next != queue_.end();) {
    LocalWorker& worker = *next->worker;
    start(worker);
    if (!worker.failure().empty()) {
      Observation observation;
      observation.outcome = Outcome::lost;
      observation.reason =
          fmt::format("the {} worker cannot be used: {}", worker.spec().name, worker.failure());
      const Execution execution = queue_.take(next);
      remove_directory(execution.before);
      execution.job.done(std::move(observation), execution.seconds);
      next = queue_.begin();  // the callback may have submitted more
      continue;
    }
    // What needs several slots waits for them at its place: nothing behind it overtakes it.
    std::size_t taken = slots_of(*next);
    for (const Batch& batch : batches_) taken += slots_of(batch.first().execution);
    if (taken > options_.jobs) return;
    if (!worker.ready() || reserved.contains(&worker) || !has_room(worker, next->alone)) {
      if (next->alone) reserved.insert(&worker);
      ++next;
      continue;
    }
    tell(queue_.take_batch(next, options_.jobs));
    next = queue_.begin();  // what came after it may be in its batch
  }
}

void LocalEngine::conclude(SentExecution sent, Observation observation, Clock::time_point now) {
  Execution& execution = sent.execution;
  observation.stderr_tail = tail_of(sent.out / "stderr");
  execution.seconds += std::chrono::duration<double>(now - sent.began).count();
  // What is mapped of a removed directory stays readable.
  remove_directory(execution.before);
  if (!options_.save_jobs.empty() && (!execution.is_last() || execution.job.parts.size() == 1))
    save_part(sent.out, options_.save_jobs, execution.job.id, execution.part);
  if (execution.seen) observation = join_parts(*execution.seen, std::move(observation));
  if (!execution.is_last() && observation.outcome == Outcome::returned) {
    ++execution.part;
    execution.alone = false;
    execution.before = sent.out;
    execution.seen = std::move(observation);
    return enqueue(std::move(execution));
  }
  remove_directory(sent.out);
  execution.job.done(std::move(observation), execution.seconds);
}

void LocalEngine::handle_end(std::list<Batch>::iterator batch, const WorkerMessage& message,
                             Clock::time_point now) {
  const bool innocent = batch->take_end(message);
  batch->worker->connection()->renew_quota();
  SentExecution sent = std::move(batch->first());
  batch->executions.pop_front();
  if (batch->executions.empty()) {
    batches_.erase(batch);
  } else {
    begin(*batch, now);
  }
  if (innocent) {
    remove_directory(sent.out);
    return enqueue(std::move(sent.execution));
  }
  const bool killed = sent.killed_at.has_value();
  Observation observation =
      observe_end({sent.out, sent.sent_held ? sent.execution.job.held : HeldStorages{}, sent.stage,
                   killed, limit_of(sent), sent.oom_kills_before, message});
  conclude(std::move(sent), std::move(observation), now);
}

bool LocalEngine::handle(LocalWorker& worker, const WorkerMessage& message, Clock::time_point now) {
  if (message.kind == WorkerMessage::Kind::hello) {
    worker.greet(message.hello);
    if (worker.ready() && on_hello) on_hello(worker.spec().name, worker.hello());
    return true;
  }
  const auto is_meant = [&](const SentExecution& sent) { return sent.run == message.run; };
  const auto batch = std::find_if(batches_.begin(), batches_.end(), [&](const Batch& each) {
    return each.worker == &worker &&
           std::any_of(each.executions.begin(), each.executions.end(), is_meant);
  });
  if (batch == batches_.end())
    return true;  // a late word of something abandoned, or of a child that died
  worker.note_word();
  if (!is_meant(batch->first())) {
    worker.connection()->refuse(
        fmt::format("it spoke of run {}, which comes after {}", message.run, batch->first().run));
    return false;
  }
  if (message.kind == WorkerMessage::Kind::ended) {
    handle_end(batch, message, now);
  } else {
    batch->take(message, now);
  }
  return true;
}

void LocalEngine::lost(LocalWorker& worker, Clock::time_point now) {
  std::vector<SentExecution> gone;
  bool timed_out = false;
  for (auto batch = batches_.begin(); batch != batches_.end();) {
    if (batch->worker != &worker) {
      ++batch;
      continue;
    }
    kill_group(batch->pid);
    for (SentExecution& sent : batch->executions) {
      timed_out |= sent.killed_at.has_value();
      gone.push_back(std::move(sent));
    }
    batch = batches_.erase(batch);
  }
  // A worker that was stopped for a time-out did not die; and of several executions one may have
  // been at fault, which shows when each is run alone.
  const bool was_ready = worker.ready();
  const std::string why = worker.lose(!timed_out && gone.size() <= 1);
  if (!was_ready) start(worker);
  std::vector<Execution> again;
  for (SentExecution& sent : gone) {
    if (!sent.killed_at && gone.size() > 1) {
      remove_directory(sent.out);
      again.push_back(std::move(sent.execution));
      continue;
    }
    Observation observation;
    observation.stage = sent.stage;
    observation.outcome = sent.killed_at ? Outcome::timed_out : Outcome::lost;
    observation.reason = sent.killed_at
                             ? fmt::format("not done in time in the stage `{}`", sent.stage)
                             : fmt::format("the {} worker {}", worker.spec().name, why);
    conclude(std::move(sent), std::move(observation), now);
  }
  if (again.empty()) return;
  if (on_note) {
    on_note(
        fmt::format("the {} worker {} with {} executions under way; {} run again, one at a time",
                    worker.spec().name, why, gone.size(), again.size()));
  }
  for (Execution& execution : again) {
    execution.alone = true;
    enqueue(std::move(execution));
  }
}

double LocalEngine::limit_of(const SentExecution& sent) const {
  return options_.limits.of(sent.stage) * sent.execution.patience();
}

void LocalEngine::check_clocks(Clock::time_point now) {
  for (Batch& batch : batches_) batch.check_clock(now, limit_of(batch.first()));
  for (auto& [key, worker] : workers_) worker->check_clock(now, options_.limits.warm_up);
}

void LocalEngine::wake() { ::eventfd_write(woken_, 1); }

void LocalEngine::step(double seconds) {
  dispatch();
  std::vector<pollfd> polled;
  for (auto& [key, worker] : workers_) {
    WorkerConnection* const connection = worker->connection();
    if (connection == nullptr) continue;
    polled.push_back({connection->process().output(), POLLIN, 0});
    if (connection->wants_to_write()) polled.push_back({connection->process().input(), POLLOUT, 0});
  }
  polled.push_back({woken_, POLLIN, 0});
  // Clocks are looked at four times a second, and when the next one runs out.
  double wait = std::min(seconds, 0.25);
  for (const Batch& batch : batches_) {
    const SentExecution& sent = batch.first();
    if (sent.killed_at) continue;
    const std::chrono::duration<double> spent = Clock::now() - sent.stage_began;
    wait = std::min(wait, std::max(0.0, limit_of(sent) - spent.count()));
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(std::ceil(wait * 1000)));
  ::eventfd_t times = 0;
  ::eventfd_read(woken_, &times);
  // All that was said until now is read before any of it is acted upon: an execution whose `ended`
  // waits in a pipe while a callback judges another one is not late.
  const auto now = Clock::now();
  std::vector<std::pair<LocalWorker*, std::vector<WorkerMessage>>> said;
  for (auto& [key, worker] : workers_) {
    if (worker->connection() == nullptr) continue;
    worker->connection()->flush();
    said.emplace_back(worker.get(), worker->connection()->receive());
  }
  for (auto& [worker, messages] : said) {
    for (const WorkerMessage& message : messages) {
      if (!handle(*worker, message, now)) break;
    }
    // A callback may have abandoned everything.
    if (worker->connection() != nullptr && !worker->connection()->fault().empty())
      lost(*worker, now);
  }
  check_clocks(now);
  dispatch();
}

}  // namespace lockstep
