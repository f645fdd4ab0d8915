#include "run/dispatcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "judge/judge.h"
#include "plan/case_facts.h"
#include "record/alike.h"
#include "record/log.h"
#include "run/task.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace {

/// A member gets more work so many seconds before it is idle. The message takes time; but work that
/// waits there is lost to others.
constexpr double kAhead = 2;
/// A member's Lockstep is started again after so many exits without a verdict between them.
constexpr int kMostExits = 3;
/// Executions at a time, whatever a member says.
constexpr std::size_t kMostJobs = 4096;

std::string text_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// [[FIRST, BEHIND], …] of items in any order.
Json ranges_of(const std::vector<std::size_t>& items) {
  Json ranges = Json::array();
  for (const std::size_t item : items) {
    if (!ranges.empty() && ranges.back()[1] == item) {
      ranges.back()[1] = item + 1;
    } else {
      ranges.push_back({item, item + 1});
    }
  }
  return ranges;
}

}  // namespace

Dispatcher::Dispatcher(const Plan& plan, const RunInfo& info, const Json& environment,
                       std::string eager, const std::vector<bool>& skip,
                       const std::map<std::string, double>& seconds)
    : plan_(plan),
      info_(info),
      environment_(environment),
      eager_(std::move(eager)),
      pool_(plan, skip, seconds),
      left_(static_cast<std::size_t>(std::count(skip.begin(), skip.end(), false))) {}

Result<void> Dispatcher::hear(const Json& message) {
  if (const std::string why = text_of(message, "failed"); !why.empty())
    return fail("the cluster cannot be used: " + why, text_of(message, "hint"));
  if (const std::string note = text_of(message, "note"); !note.empty() && on_note) on_note(note);
  if (const std::string name = text_of(message, "joined"); !name.empty()) {
    Member member;
    const Json jobs = message.value("jobs", Json());
    if (jobs.is_number_unsigned())
      member.jobs = std::clamp(jobs.get<std::size_t>(), std::size_t{1}, kMostJobs);
    const auto found = members_.find(name);
    if (found != members_.end()) lose(name, found->second, "another one has its address");
    members_[name] = std::move(member);
    send({{"start", name}});
  }
  const std::string name = text_of(message, "of");
  const auto found = members_.find(name);
  if (found == members_.end()) return {};  // also what comes late
  Member& member = found->second;
  const std::string why = one_line(text_of(message, "why"), 500);
  if (const std::string line = text_of(message, "line"); !line.empty()) {
    const auto state = member.state;
    hear_line(name, member, line);
    if (member.state == state) return {};
  } else if (message.contains("gone")) {
    lose(name, member, why);
    members_.erase(found);
  } else if (message.contains("ended") && member.state == Member::State::starting) {
    refuse(name, member, why);
  } else if (message.contains("ended") && member.state == Member::State::working) {
    lose(name, member, why);
    if (++member.exits < kMostExits) {
      member.state = Member::State::starting;
      member.info.reset();
      member.environment = Json::object();
      send({{"start", name}});
    } else {
      refuse(name, member, fmt::format("it ended {} times in a row: {}", kMostExits, why));
    }
  }
  hand_out();
  return {};
}

void Dispatcher::hear_line(const std::string& name, Member& member, const std::string& line) {
  if (member.state == Member::State::refused) return;
  const auto record = record_of(line);
  const std::string type = record ? text_of(*record, "type") : "";
  if (type == "run") {
    auto info = run_info_from_json(*record);
    if (!info) return refuse(name, member, info.error().message);
    if (member.info) return refuse(name, member, "it began a second run");
    member.info = std::move(*info);
  } else if (type == "environment") {
    hear_environment(name, member, *record);
  } else if (type == "verdict") {
    hear_verdict(name, member, *record);
  } else if (!record) {
    refuse(name, member, "it says what is no record of a log: " + record.error().message);
  }
}

void Dispatcher::hear_environment(const std::string& name, Member& member, const Json& record) {
  const std::string worker = text_of(record, "name");
  const Json values = record.value("values", Json::object());
  if (!values.is_object())
    return refuse(name, member, "its log has an environment that is no object of facts");
  member.environment[worker] = values;
  if (member.environment.size() > kLogLimits.environments || values.size() > kLogLimits.facts)
    return refuse(name, member,
                  fmt::format("its log has more than {} environments, or one of more than {} facts",
                              kLogLimits.environments, grouped(kLogLimits.facts)));
  if (member.state == Member::State::starting) {
    if (!member.info || worker != eager_) return;
    const std::string other = difference(member);
    return other.empty() ? accept(name, member) : refuse(name, member, other);
  }
  if (worker == "machine") return;
  const auto known = environment_.find(worker);
  if (known == environment_.end()) return on_environment(worker, values);
  if (const auto others = other_settings(*known, values); !others.empty())
    refuse(name, member,
           fmt::format("its {} worker has {} {}, another one {}", worker, others.front().key,
                       others.front().other.dump(), others.front().one.dump()));
}

std::string Dispatcher::difference(const Member& member) const {
  const auto of = [](const Json& environment, const std::string& worker) {
    return environment.is_object() ? environment.value(worker, Json::object()) : Json::object();
  };
  const Json eager = of(environment_, eager_);
  if (const auto others = other_settings(eager, of(member.environment, eager_)); !others.empty())
    return fmt::format("it has {} {}, this machine {}", others.front().key,
                       others.front().other.dump(), others.front().one.dump());
  // Below its level, too, a CPU's features decide which kernels its libraries take.
  const Json one = of(environment_, "machine").value("cpu_features", Json()),
             other = of(member.environment, "machine").value("cpu_features", Json());
  if (one != other)
    return fmt::format("its CPU has the features {}, this one {}", other.dump(), one.dump());
  const RunInfo& theirs = *member.info;
  if (theirs.version != info_.version)
    return fmt::format("it is Lockstep {}, this one is {}", theirs.version, info_.version);
  if (const auto digests = other_digests(info_, theirs); !digests.empty())
    return fmt::format("it has other {}", fmt::join(digests, ", "));
  if (theirs.plan != info_.plan)
    return "it makes another plan of the same files: its devices or the paths that it can use are "
           "others";
  return "";
}

void Dispatcher::accept(const std::string& name, Member& member) {
  member.state = Member::State::working;
  const Json machine = member.environment.value("machine", Json::object());
  machines_[name] = fmt::format("{}, {}, {} at a time", text_of(machine, "host"),
                                text_of(machine, "cpu"), member.jobs);
  on_environment("cluster", machines_);
}

void Dispatcher::refuse(const std::string& name, Member& member, const std::string& why) {
  std::vector<std::size_t> items;
  for (const Chunk& chunk : std::exchange(member.chunks, {})) {
    // What was lost once stays so; the others have not been lost with it.
    if (chunk.alone) {
      pool_.put_lost(chunk.items);
    } else {
      items.insert(items.end(), chunk.items.begin(), chunk.items.end());
    }
  }
  pool_.put_back(items);
  member.state = Member::State::refused;
  member.refusal = why;
  on_note(fmt::format("{} is left out: {}", name, why));
  send({{"drop", name}});
}

void Dispatcher::lose(const std::string& name, Member& member, const std::string& why) {
  std::size_t again = 0;
  for (const Chunk& chunk : std::exchange(member.chunks, {})) {
    for (const std::size_t item : chunk.items)
      losses_[item].push_back(fmt::format("{} ({})", name, why));
    if (!chunk.alone) {
      again += chunk.items.size();
      pool_.put_lost(chunk.items);
      continue;
    }
    for (const std::size_t item : chunk.items) give_up(item);
  }
  if (again > 0)
    on_note(
        fmt::format("{} is lost ({}): {} of its verdicts are made elsewhere", name, why, again));
}

void Dispatcher::give_up(std::size_t item) {
  --left_;
  const Instance& instance = plan_.instances[plan_.items[item].instance];
  on_verdict(
      {case_facts(plan_, item, program_text(instance)),
       unjudged(Status::worker_lost, fmt::format("lost twice with the machine that executed it: {}",
                                                 fmt::join(losses_[item], ", then "))),
       {},
       {}});
}

void Dispatcher::hear_verdict(const std::string& name, Member& member, const Json& record) {
  auto verdict = verdict_from_json(record);
  std::string wrong = verdict ? contradiction(*verdict) : verdict.error().message;
  if (!wrong.empty()) return refuse(name, member, "its verdict says: " + one_line(wrong, 500));
  const auto index = find_item(plan_, verdict->facts);
  const auto chunk =
      std::find_if(member.chunks.begin(), member.chunks.end(), [&](const Chunk& each) {
        return index && std::find(each.items.begin(), each.items.end(), *index) != each.items.end();
      });
  if (chunk == member.chunks.end())
    return refuse(name, member,
                  "it judged what it was not given: " + one_line(verdict->facts.id, 200));
  std::erase(chunk->items, *index);
  if (chunk->items.empty()) member.chunks.erase(chunk);
  --left_;
  member.exits = 0;
  verdict->facts.index = *index;
  pool_.learn(*index, verdict->origin.seconds);
  on_verdict(std::move(*verdict));
  fill(name, member);
}

void Dispatcher::hand_out() {
  for (auto& [name, member] : members_) fill(name, member);
}

void Dispatcher::fill(const std::string& name, Member& member) {
  const auto is_alone = [](const Chunk& chunk) { return chunk.alone; };
  if (member.state != Member::State::working ||
      std::any_of(member.chunks.begin(), member.chunks.end(), is_alone))
    return;
  if (member.chunks.empty() && pool_.has_lost()) return order(name, member, pool_.take_lost());
  while (pool_.has_more() && pool_.idle_in(member.chunks, member.jobs) < kAhead)
    order(name, member, pool_.take(member.jobs, slots()));
}

void Dispatcher::order(const std::string& name, Member& member, Chunk chunk) {
  send({{"order", name}, {"items", ranges_of(chunk.items)}});
  member.chunks.push_back(std::move(chunk));
}

std::size_t Dispatcher::slots() const {
  std::size_t count = 0;
  for (const auto& [name, member] : members_) {
    if (member.state != Member::State::refused) count += member.jobs;
  }
  return count;
}

std::string Dispatcher::unusable() const {
  std::string why;
  for (const auto& [name, member] : members_) {
    if (member.state != Member::State::refused) return "";
    why += fmt::format("{}{}: {}", why.empty() ? "" : "\n", name, member.refusal);
  }
  return why;
}

std::vector<std::string> Dispatcher::running() const {
  std::vector<std::string> phrases;
  for (const auto& [name, member] : members_) {
    std::size_t items = 0;
    for (const Chunk& chunk : member.chunks) items += chunk.items.size();
    if (items == 0) continue;
    const std::string& first = plan_.items[member.chunks.front().items.front()].id;
    phrases.push_back(items == 1 ? fmt::format("{} on {}", first, name)
                                 : fmt::format("{} {} on {}", first, and_more(items - 1), name));
  }
  return phrases;
}

std::vector<std::string> Dispatcher::starting() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) {
    if (member.state == Member::State::starting) names.push_back(name);
  }
  return names;
}

std::string Dispatcher::report() const {
  std::string text = fmt::format("{} verdicts to come", left_);
  for (const std::string& phrase : running()) text += "\n" + phrase;
  for (const std::string& name : starting()) text += "\nstarting: " + name;
  for (const auto& [name, member] : members_) {
    if (member.state == Member::State::refused)
      text += fmt::format("\nleft out: {}: {}", name, member.refusal);
  }
  return text;
}

}  // namespace lockstep
