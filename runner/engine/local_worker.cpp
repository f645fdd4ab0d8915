#include "engine/local_worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/text.h"
#include "engine/post_mortem.h"
#include "wire/request.h"

namespace lockstep {
namespace {

// A worker that dies this often in a row without a word about a job is not started again.  What it
// dies of after that is the job's: in a plain loop every crash is a death, and the next job may be
// fine.
constexpr int kMostDeaths = 3;

double seconds_between(LocalWorker::Clock::time_point then, LocalWorker::Clock::time_point now) {
  return std::chrono::duration<double>(now - then).count();
}

/// What is wrong with the CPU level at which a worker says that it computes; empty: it is `wanted`,
/// or none is.
std::string other_cpu_level(const Json& hello, const std::string& wanted) {
  if (wanted.empty()) return "";
  const Json environment = hello.value("environment", Json::object());
  const Json says = environment.value("cpu_capability", Json());
  if (!says.is_string()) {
    return fmt::format(
        "it does not say at which CPU level it computes (`cpu_capability` of its `environment`), "
        "and was asked to compute at {}",
        wanted);
  }
  const std::string level = cpu_level_of(says.get<std::string>());
  if (level == wanted) return "";
  return fmt::format("it computes at the CPU level {}, and was asked to compute at {}",
                     one_line(level, 40), wanted);
}

/// A number of at least 1 in a hello; 1 where it says none.
std::size_t number_of(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::size_t>() : 1;
}

}  // namespace

LocalWorker::LocalWorker(WorkerSpec spec, std::filesystem::path log)
    : spec_(std::move(spec)), log_(std::move(log)) {}

std::size_t LocalWorker::concurrent() const { return number_of(hello_, "concurrent"); }

std::size_t LocalWorker::batch_for(const std::string& device) const {
  const auto batch = hello_.find("batch");
  return batch == hello_.end() ? 1 : number_of(*batch, device.substr(0, device.find(':')));
}

bool LocalWorker::digests(const std::string& device) const {
  return contains(strings_of(hello_, "digests"), device.substr(0, device.find(':')));
}

std::string LocalWorker::describe(Clock::time_point now) const {
  return ready_ ? "ready" : "starting for " + format_seconds(seconds_between(started_, now));
}

bool LocalWorker::start(const Json& hello) {
  if (connection_ || !failure_.empty()) return false;
  auto process = Process::start({spec_.argv, spec_.environment, log_});
  if (!process) {
    failure_ = process.error().message;
    return false;
  }
  connection_ = std::make_unique<WorkerConnection>(std::move(*process));
  ready_ = false;
  started_ = Clock::now();
  connection_->send(hello);
  return true;
}

void LocalWorker::greet(const Json& hello) {
  if (hello.contains("error")) {
    failure_ = hello["error"].get<std::string>();
  } else if (const Json protocol = hello.value("protocol", Json()); protocol != 2) {
    failure_ = fmt::format("it speaks protocol {}, this runner speaks 2", protocol.dump());
  } else if (const std::string other = other_cpu_level(hello, spec_.cpu_level); !other.empty()) {
    failure_ = other;
  } else {
    hello_ = hello;
    ready_ = true;
  }
}

std::string LocalWorker::lose(bool died) {
  std::string why = connection_->fault();
  const std::optional<int> status = connection_->process().poll_status();
  const bool struck = status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
  const bool was_ready = ready_;
  end();
  if (died) ++deaths_;
  if (!failure_.empty()) return why;
  // Killed from outside while it warmed up, by the kernel or a person: it need not happen again.
  if (!was_ready && !(struck && deaths_ < kMostDeaths)) {
    failure_ = fmt::format("it {} before it said hello; the end of {}:\n{}", why, log_.string(),
                           tail_of(log_));
  } else if (was_ready && deaths_ >= kMostDeaths) {
    failure_ = fmt::format("it died {} times in a row before anything started; the last time it {}",
                           deaths_, why);
  }
  return why;
}

void LocalWorker::end() {
  connection_.reset();
  ready_ = false;
}

std::string LocalWorker::dismiss(double seconds) {
  std::optional<int> status = 0;
  if (connection_ && ready_) {
    connection_->send(stop_message());
    connection_->process().close_input();
    // Its own exit frees what it holds in order; `end` kills what is left.
    const Clock::time_point asked = Clock::now();
    while (!(status = connection_->process().poll_status()) &&
           seconds_between(asked, Clock::now()) < seconds)
      ::poll(nullptr, 0, 5);
  }
  end();
  if (!status) return fmt::format("did not exit within {}", format_seconds(seconds));
  return *status == 0 ? "" : describe_wait_status(*status);
}

void LocalWorker::check_clock(Clock::time_point now, double limit) {
  if (!connection_ || ready_ || !failure_.empty() || seconds_between(started_, now) <= limit)
    return;
  failure_ = fmt::format("it did not say hello within {}", format_seconds(limit));
  connection_->process().kill();
}

}  // namespace lockstep
