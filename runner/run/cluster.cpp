#include "run/cluster.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/post_mortem.h"
#include "judge/judge.h"
#include "plan/case_facts.h"
#include "record/alike.h"
#include "record/log.h"
#include "run/task.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace {

/// Of a message: lines of a log as strings, in which escapes take twice their room.
constexpr JsonBounds kMessageBounds = {.bytes = 64 << 20, .depth = 16, .values = 1 << 16};
/// Seconds that the bridge may take to end what runs for it.
constexpr int kGoodbye = 15;
constexpr const char* kGoOn = "`run --resume DIR` goes on; DIR is the directory of this run";

std::string text_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Cluster::Cluster(const Plan& plan, const Json& environment, const std::vector<bool>& skip,
                 const std::map<std::string, double>& seconds, DriverHooks hooks)
    : plan_(plan), environment_(environment), hooks_(std::move(hooks)) {
  for (Chunk& chunk : chunks_of(plan, skip, seconds)) {
    left_ += chunk.items.size();
    order({std::move(chunk), false, {}});
  }
}

Cluster::~Cluster() {
  if (!bridge_) return;
  bridge_->close_input();
  char unread[1 << 12];
  for (int i = 0; i < kGoodbye * 20 && !bridge_->poll_status(); ++i) {
    while (::read(bridge_->output(), unread, sizeof unread) > 0) {
    }
    ::poll(nullptr, 0, 50);
  }
}

Result<void> Cluster::connect(const ClusterOptions& options, const std::filesystem::path& log) {
  auto process = Process::start({options.bridge, {}, log});
  if (!process) return tl::unexpected(process.error());
  bridge_.emplace(std::move(*process));
  incoming_.emplace(bridge_->output(), kMessageBounds);
  log_ = log;
  outgoing_.insert(0, options.begin.dump() + '\n');
  return {};
}

void Cluster::send(const Json& message) { outgoing_ += message.dump() + '\n'; }

Result<void> Cluster::step() {
  while (!outgoing_.empty()) {
    const ssize_t count = ::write(bridge_->input(), outgoing_.data(), outgoing_.size());
    if (count <= 0) break;  // full, or gone, which its output shows
    outgoing_.erase(0, static_cast<std::size_t>(count));
  }
  incoming_->read(250);
  while (true) {
    const auto message = incoming_->next();
    if (!message)
      return fail("the bridge to the cluster breaks off: " + message.error().message, kGoOn);
    if (!*message) break;
    if (auto heard = hear(**message); !heard) return heard;
  }
  if (!incoming_->ended()) return {};
  std::optional<int> status;
  for (int i = 0; i < 100 && !(status = bridge_->poll_status()); ++i) ::poll(nullptr, 0, 20);
  return fail(fmt::format("the bridge to the cluster {}; the end of {}:\n{}",
                          status ? describe_wait_status(*status) : "is silent", log_.string(),
                          tail_of(log_)),
              kGoOn);
}

void Cluster::order(Order chunk) {
  Json places = Json::array();
  for (const std::size_t item : chunk.items) places.push_back(plan_.items[item].place);
  send({{"chunk", next_},
        {"places", std::move(places)},
        {"seconds", chunk.seconds},
        {"alone", chunk.alone}});
  chunks_[next_++] = std::move(chunk);
}

Result<void> Cluster::hear(const Json& message) {
  if (const std::string why = text_of(message, "failed"); !why.empty())
    return fail("the cluster cannot be used: " + why, text_of(message, "hint"));
  if (const std::string note = text_of(message, "note"); !note.empty()) hooks_.on_note(note);
  const Json number = message.value("chunk", Json());
  const auto found =
      number.is_number_unsigned() ? chunks_.find(number.get<std::size_t>()) : chunks_.end();
  if (found == chunks_.end()) return {};
  Order chunk = std::move(found->second);
  chunks_.erase(found);
  const std::string machine = one_line(text_of(message, "of"), 200);
  const Json lines = message.value("lines", Json());
  if (!lines.is_array()) {
    lose(chunk, fmt::format("{} ({})", machine, one_line(text_of(message, "lost"), 500)));
    return {};
  }
  std::string wrong;
  for (const Json& line : lines) {
    if (wrong.empty() && !left_out_.contains(machine)) wrong = take(machine, line, chunk);
  }
  if (wrong.empty() && !chunk.items.empty()) wrong = "it leaves out verdicts";
  if (!wrong.empty() && left_out_.insert(machine).second)
    send({{"leave_out", machine}, {"why", wrong}});
  if (!chunk.items.empty()) order(std::move(chunk));
  return {};
}

void Cluster::lose(const Order& chunk, const std::string& how) {
  if (told_.insert(how).second) hooks_.on_note(how + " is lost");
  if (!chunk.alone) {
    for (Items& graph : by_graph(plan_, chunk.items)) order({{std::move(graph), 0}, true, how});
    return;
  }
  for (const std::size_t item : chunk.items) {
    --left_;
    const std::string program = program_text(plan_.instances[plan_.items[item].instance]);
    hooks_.on_verdict({case_facts(plan_, item, program),
                       unjudged(Status::worker_lost,
                                fmt::format("lost twice with the machine that executed it: {}, "
                                            "then {}",
                                            chunk.lost, how)),
                       {},
                       {}});
  }
}

std::string Cluster::take(const std::string& machine, const Json& line, Chunk& chunk) {
  const auto record = record_of(line.is_string() ? line.get<std::string>() : line.dump());
  if (!record)
    return "it says what is no record of a log: " + one_line(record.error().message, 500);
  const std::string type = text_of(*record, "type");
  if (type == "environment") return take_environment(machine, *record);
  return type == "verdict" ? take_verdict(*record, chunk) : "";
}

std::string Cluster::take_environment(const std::string& machine, const Json& record) {
  const std::string worker = text_of(record, "name");
  const Json values = record.value("values", Json());
  if (!values.is_object() || values.size() > kLogLimits.facts ||
      environment_.size() >= kLogLimits.environments)
    return fmt::format(
        "its log has more than {} environments, or one that is no object of at most "
        "{} facts",
        kLogLimits.environments, grouped(kLogLimits.facts));
  if (worker == "machine") {
    const std::string facts = text_of(values, "host") + ", " + text_of(values, "cpu");
    if (machines_.value(machine, std::string()) != facts) {
      machines_[machine] = facts;
      hooks_.on_environment("cluster", machines_);
    }
    return "";
  }
  const auto known = environment_.find(worker);
  if (known == environment_.end()) {
    hooks_.on_environment(worker, values);
    return "";
  }
  const auto others = other_settings(*known, values);
  if (others.empty()) return "";
  return fmt::format("its {} worker has {} {}, another one {}", worker, others.front().key,
                     others.front().other.dump(), others.front().one.dump());
}

std::string Cluster::take_verdict(const Json& record, Chunk& chunk) {
  auto verdict = verdict_from_json(record);
  const std::string wrong = verdict ? contradiction(*verdict) : verdict.error().message;
  if (!wrong.empty()) return "its verdict says: " + one_line(wrong, 500);
  const auto index = find_item(plan_, verdict->facts);
  if (!index || std::erase(chunk.items, *index) == 0)
    return "it judged what it was not given: " + one_line(verdict->facts.id, 200);
  --left_;
  verdict->facts.index = *index;
  if (!hooks_.stopped()) hooks_.on_verdict(std::move(*verdict));
  return "";
}

std::vector<std::string> Cluster::running() const {
  return machines_.empty() ? std::vector<std::string>{} : std::vector{report()};
}

/// "starting the first dask worker"
std::vector<std::string> Cluster::starting() const {
  return machines_.empty() ? std::vector<std::string>{"first dask"} : std::vector<std::string>{};
}

std::string Cluster::report() const {
  return fmt::format("{} chunks on {} machines", chunks_.size(), machines_.size());
}

Result<std::unique_ptr<Driver>> drive_cluster(const Plan& plan, const RunSettings& settings,
                                              const Json& environment,
                                              const std::vector<bool>& skip, DriverHooks hooks) {
  ClusterOptions options = *settings.cluster;
  options.begin["run"]["alike"] = {{"run", to_json(settings.info)}, {"environment", environment}};
  auto cluster = std::make_unique<Cluster>(plan, environment, skip, options.seconds, hooks);
  if (cluster->done()) return cluster;
  const std::filesystem::path log = settings.directory / "worker-cluster.log";
  hooks.on_note(fmt::format("connecting with the cluster; the first time, this sets Dask up ({})",
                            log.string()));
  if (auto connected = cluster->connect(options, log); !connected)
    return tl::unexpected(connected.error());
  return cluster;
}

}  // namespace lockstep
