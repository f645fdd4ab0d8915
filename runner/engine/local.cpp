#include "engine/local.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engine/parts.h"
#include "engine/post_mortem.h"
#include "wire/request.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

// A worker that dies this often in a row without a word about a job is not started again.  What it
// dies of after that is the job's: in a plain loop every crash is a death, and the next job may be
// fine.
constexpr int kMostDeaths = 3;
// How long a killed execution may take to be reported as ended before its worker is taken for dead,
// too.
constexpr double kGrace = 10;

/// Removes a directory of a part, if there is one.
void remove_directory(const fs::path& directory) {
  std::error_code error;
  if (!directory.empty()) fs::remove_all(directory, error);
}

}  // namespace

struct LocalEngine::Worker {
  WorkerSpec spec;
  std::unique_ptr<WorkerConnection> connection;
  Json hello;
  bool ready = false;
  std::string failure;  ///< set: not to be started again
  int deaths = 0;
  std::size_t concurrent = 1;  ///< executions that it can have under way, as it says
  std::size_t room = 1;        ///< that it may have now: one, while a job is alone on it
  std::size_t busy = 0;        ///< that it has
  bool reserved = false;       ///< a job waits for it to be free, so that it can be alone
  Clock::time_point started;
};

struct LocalEngine::Running {
  Execution execution;
  Worker* worker = nullptr;
  fs::path out;
  pid_t pid = 0;
  std::string stage = "start";
  Clock::time_point stage_began;
  Clock::time_point began;
  std::int64_t oom_kills_before = 0;
  bool killed = false;
  Clock::time_point killed_at;
};

LocalEngine::LocalEngine(LocalEngineOptions options)
    : options_(std::move(options)), woken_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  options_.hello["scratch"] = options_.scratch.string();
}

LocalEngine::~LocalEngine() {
  abandon();
  for (auto& [key, worker] : workers_) {
    if (worker->connection && worker->ready) {
      worker->connection->send(stop_message());
      worker->connection->process().close_input();
      // Its own exit frees what it holds in order; Process kills what is left.
      for (int i = 0; i < 100 && !worker->connection->process().poll_status(); ++i)
        ::poll(nullptr, 0, 5);
    }
  }
  ::close(woken_);
}

std::string LocalEngine::key_of(const WorkerSpec& spec) {
  std::string key;
  for (const std::string& word : spec.argv) key += word + '\n';
  auto environment = spec.environment;
  std::sort(environment.begin(), environment.end());
  for (const auto& [name, value] : environment) key += name + "=" + value + '\n';
  return key;
}

LocalEngine::Worker& LocalEngine::worker_for(const WorkerSpec& spec) {
  std::unique_ptr<Worker>& worker = workers_[key_of(spec)];
  if (!worker) {
    worker = std::make_unique<Worker>();
    worker->spec = spec;
  }
  if (!worker->connection && worker->failure.empty()) start(*worker);
  return *worker;
}

fs::path LocalEngine::log_of(const WorkerSpec& spec) const {
  return options_.logs / ("worker-" + spec.name + ".log");
}

void LocalEngine::start(Worker& worker) {
  auto process = Process::start({worker.spec.argv, worker.spec.environment, log_of(worker.spec)});
  if (!process) {
    worker.failure = process.error().message;
    return;
  }
  worker.connection = std::make_unique<WorkerConnection>(std::move(*process));
  worker.ready = false;
  worker.busy = 0;
  worker.started = Clock::now();
  worker.connection->send(options_.hello);
  if (on_note) on_note(fmt::format("starting the {} worker", worker.spec.name));
}

void LocalEngine::warm_up(const WorkerSpec& spec) { worker_for(spec); }

void LocalEngine::submit(Job job) {
  for (const JobPart& part : job.parts) worker_for(part.worker);
  enqueue({std::move(job), 0, false, {}, {}, 0});
}

void LocalEngine::enqueue(Execution execution) {
  const auto after = std::upper_bound(
      queue_.begin(), queue_.end(), execution.job.order,
      [](std::size_t order, const Execution& other) { return order < other.job.order; });
  queue_.insert(after, std::move(execution));
}

std::vector<std::string> LocalEngine::running_ids() const {
  std::vector<std::string> ids;
  for (const auto& [run, running] : running_) ids.push_back(running->execution.job.id);
  return ids;
}

std::string LocalEngine::report() const {
  const auto seconds_since = [](Clock::time_point then) {
    return format_seconds(std::chrono::duration<double>(Clock::now() - then).count());
  };
  std::string text = fmt::format("{} under way, {} queued\n", running_.size(), queue_.size());
  for (const auto& [run, running] : running_) {
    text += fmt::format("  {}: {} in the stage `{}`, {} in all{}\n", running->execution.job.id,
                        seconds_since(running->stage_began), running->stage,
                        seconds_since(running->began),
                        running->pid > 0 ? fmt::format(" (process {})", running->pid) : "");
  }
  for (const auto& [key, worker] : workers_) {
    if (!worker->connection) continue;
    text += fmt::format("  the {} worker (process {}): {}\n", worker->spec.name,
                        worker->connection->process().pid(),
                        worker->ready ? "ready" : "starting for " + seconds_since(worker->started));
  }
  return text;
}

const Json* LocalEngine::hello_of(const WorkerSpec& spec) const {
  const auto found = workers_.find(key_of(spec));
  return found == workers_.end() || found->second->hello.is_null() ? nullptr
                                                                   : &found->second->hello;
}

std::string LocalEngine::failure_of(const WorkerSpec& spec) const {
  const auto found = workers_.find(key_of(spec));
  return found == workers_.end() ? "" : found->second->failure;
}

void LocalEngine::abandon() {
  queue_.clear();
  for (auto& [run, running] : running_) {
    kill_group(running->pid);
  }
  running_.clear();
  for (auto& [key, worker] : workers_) worker->busy = 0;
}

void LocalEngine::dispatch() {
  for (auto& [key, worker] : workers_) worker->reserved = false;
  for (auto next = queue_.begin(); next != queue_.end();) {
    Worker& worker = worker_for(next->worker());
    if (!worker.failure.empty()) {
      Observation observation;
      observation.outcome = Outcome::lost;
      observation.reason =
          fmt::format("the {} worker cannot be used: {}", worker.spec.name, worker.failure);
      const auto done = std::move(next->job.done);
      const double seconds = next->seconds;
      remove_directory(next->before);
      next = queue_.erase(next);
      done(std::move(observation), seconds);
      next = queue_.begin();  // the callback may have submitted more
      continue;
    }
    if (running_.size() >= options_.jobs) return;
    if (!worker.ready || worker.reserved || worker.busy >= (next->alone ? 1 : worker.room)) {
      worker.reserved |= next->alone;
      ++next;
      continue;
    }
    worker.room = next->alone ? 1 : worker.concurrent;
    const std::int64_t run = next_run_++;
    auto running = std::make_unique<Running>();
    running->execution = std::move(*next);
    running->worker = &worker;
    running->out = options_.scratch / fmt::format("out{}", run);
    running->began = running->stage_began = Clock::now();
    running->oom_kills_before = oom_kills();
    next = queue_.erase(next);
    std::error_code error;
    fs::create_directory(running->out, error);
    const Execution& execution = running->execution;
    const fs::path before = execution.part > 0 ? execution.before : fs::path();
    ++worker.busy;
    worker.connection->send(run_message(run, execution.job.parts[execution.part].message,
                                        execution.job.storages, running->out, before));
    running_.emplace(run, std::move(running));
    if (on_started) on_started();
  }
}

void LocalEngine::finish(std::int64_t run, Observation observation, Clock::time_point now) {
  const auto found = running_.find(run);
  const std::unique_ptr<Running> running = std::move(found->second);
  running_.erase(found);
  if (running->worker->busy > 0) --running->worker->busy;
  Execution& execution = running->execution;
  observation.stderr_tail = tail_of(running->out / "stderr");
  execution.seconds += std::chrono::duration<double>(now - running->began).count();
  // What is mapped of a removed directory stays readable.
  remove_directory(execution.before);
  if (execution.seen) observation = join_parts(*execution.seen, std::move(observation));
  if (!execution.is_last() && observation.outcome == Outcome::returned) {
    ++execution.part;
    execution.alone = false;
    execution.before = running->out;
    execution.seen = std::move(observation);
    return enqueue(std::move(execution));
  }
  remove_directory(running->out);
  execution.job.done(std::move(observation), execution.seconds);
}

void LocalEngine::handle(Worker& worker, const WorkerMessage& message, Clock::time_point now) {
  if (message.kind == WorkerMessage::Kind::hello) {
    if (message.hello.contains("error")) {
      worker.failure = message.hello["error"].get<std::string>();
      return;
    }
    if (message.hello.value("protocol", Json()) != 1) {
      worker.failure = fmt::format("it speaks protocol {}, this runner speaks 1",
                                   message.hello.value("protocol", Json()).dump());
      return;
    }
    worker.hello = message.hello;
    worker.ready = true;
    const Json concurrent = message.hello.value("concurrent", Json(1));
    worker.concurrent = concurrent.is_number_unsigned()
                            ? std::max<std::size_t>(1, concurrent.get<std::size_t>())
                            : 1;
    worker.room = worker.concurrent;
    if (on_hello) on_hello(worker.spec.name, worker.hello);
    return;
  }
  const auto found = running_.find(message.run);
  if (found == running_.end() || found->second->worker != &worker)
    return;  // a late word of something abandoned
  Running& running = *found->second;
  worker.deaths = 0;
  if (message.kind == WorkerMessage::Kind::started) {
    // A worker that names itself (or its guard) has no group for the execution alone.
    running.pid = worker.connection->process().is(message.pid) ? 0 : message.pid;
    running.began = running.stage_began = now;
  } else if (message.kind == WorkerMessage::Kind::stage) {
    if (running.stage == "warm") running.began += now - running.stage_began;  // nobody's seconds
    running.stage = message.stage;
    running.stage_began = now;
  } else {
    kill_group(running.pid);  // no grandchild outlives it
    finish(message.run,
           observe_end({running.out, running.stage, running.killed,
                        options_.limits.of(running.stage), running.oom_kills_before, message}),
           now);
  }
}

void LocalEngine::lost(Worker& worker, Clock::time_point now) {
  const std::string why = worker.connection->fault();
  const std::optional<int> status = worker.connection->process().poll_status();
  const bool struck = status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
  worker.connection.reset();
  const bool was_ready = std::exchange(worker.ready, false);
  std::vector<std::int64_t> gone;
  bool timed_out = false;
  for (const auto& [run, running] : running_) {
    if (running->worker != &worker) continue;
    gone.push_back(run);
    timed_out |= running->killed;
  }
  // A worker that was stopped for a time-out did not die; and of several executions one may have
  // been at fault, which shows when each is run alone.
  if (!timed_out && gone.size() <= 1) ++worker.deaths;
  if (!was_ready && worker.failure.empty()) {
    // Killed from outside while it warmed up, by the kernel or a person: it need not happen again.
    if (struck && worker.deaths < kMostDeaths) return start(worker);
    worker.failure = fmt::format("it {} before it said hello; the end of {}:\n{}", why,
                                 log_of(worker.spec).string(), tail_of(log_of(worker.spec)));
  } else if (worker.deaths >= kMostDeaths && worker.failure.empty()) {
    worker.failure =
        fmt::format("it died {} times in a row before anything started; the last time it {}",
                    worker.deaths, why);
  }
  std::vector<Execution> again;
  for (const std::int64_t run : gone) {
    Running& running = *running_.at(run);
    kill_group(running.pid);
    if (!running.killed && gone.size() > 1) {
      again.push_back(std::move(running.execution));
      remove_directory(running.out);
      running_.erase(run);
      continue;
    }
    Observation observation;
    observation.stage = running.stage;
    observation.outcome = running.killed ? Outcome::timed_out : Outcome::lost;
    observation.reason = running.killed
                             ? fmt::format("not done in time in the stage `{}`", running.stage)
                             : fmt::format("the {} worker {}", worker.spec.name, why);
    finish(run, std::move(observation), now);
  }
  if (again.empty()) return;
  if (on_note) {
    on_note(
        fmt::format("the {} worker {} with {} executions under way; {} run again, one at a time",
                    worker.spec.name, why, gone.size(), again.size()));
  }
  worker.busy = 0;
  for (Execution& execution : again) {
    execution.alone = true;
    enqueue(std::move(execution));
  }
}

void LocalEngine::check_clocks(Clock::time_point now) {
  const auto seconds_since = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  for (auto& [run, running] : running_) {
    if (!running->killed &&
        seconds_since(running->stage_began) > options_.limits.of(running->stage)) {
      running->killed = true;
      running->killed_at = Clock::now();
      if (!kill_group(running->pid)) running->worker->connection->process().kill();
    } else if (running->killed && seconds_since(running->killed_at) > kGrace) {
      running->worker->connection->process().kill();
    }
  }
  for (auto& [key, worker] : workers_) {
    if (worker->connection && !worker->ready && worker->failure.empty() &&
        seconds_since(worker->started) > options_.limits.warm_up) {
      worker->failure =
          fmt::format("it did not say hello within {}", format_seconds(options_.limits.warm_up));
      worker->connection->process().kill();
    }
  }
}

void LocalEngine::wake() { ::eventfd_write(woken_, 1); }

void LocalEngine::step(double seconds) {
  dispatch();
  std::vector<pollfd> polled;
  for (auto& [key, worker] : workers_) {
    if (!worker->connection) continue;
    polled.push_back({worker->connection->process().output(), POLLIN, 0});
    if (worker->connection->wants_to_write())
      polled.push_back({worker->connection->process().input(), POLLOUT, 0});
  }
  polled.push_back({woken_, POLLIN, 0});
  // Clocks are looked at four times a second.
  const double wait = std::min(seconds, 0.25);
  ::poll(polled.data(), polled.size(), static_cast<int>(wait * 1000));
  ::eventfd_t times = 0;
  ::eventfd_read(woken_, &times);
  // All that was said until now is read before any of it is acted upon: an execution whose `ended`
  // waits in a pipe while a callback judges another one is not late.
  const auto now = Clock::now();
  std::vector<std::pair<Worker*, std::vector<WorkerMessage>>> said;
  for (auto& [key, worker] : workers_) {
    if (!worker->connection) continue;
    worker->connection->flush();
    said.emplace_back(worker.get(), worker->connection->receive());
  }
  for (auto& [worker, messages] : said) {
    for (const WorkerMessage& message : messages) handle(*worker, message, now);
    if (!worker->connection->fault().empty()) lost(*worker, now);
  }
  check_clocks(now);
  dispatch();
}

}  // namespace lockstep
