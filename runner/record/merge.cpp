#include "record/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "plan/plan.h"
#include "record/alike.h"

namespace lockstep {
namespace {

/// How people know a shard: its number, and the folder that it comes from.
std::string name_of(const RunRecord& shard) {
  const std::string folder = shard.directory.string();
  return fmt::format("shard {}/{}{}", shard.info.shard->number, shard.info.shard->of,
                     folder.empty() ? "" : fmt::format(" in {}", folder));
}

/// Why a record is no complete shard; empty if it is one.
std::string no_shard(const RunRecord& record) {
  const std::string folder = record.directory.string();
  const auto& shard = record.info.shard;
  if (!shard) return fmt::format("the run in {} is no shard", folder);
  if (shard->number < 1 || shard->number > shard->of)
    return fmt::format("the run in {} calls itself shard {} of {}", folder, shard->number,
                       shard->of);
  if (!record.complete()) {
    return fmt::format("{} did not come to its end: it has {} of {} verdicts", name_of(record),
                       record.verdicts.size(), record.info.planned);
  }
  return {};
}

/// The command line without what only says which part of the run this is.
std::vector<std::string> whole_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> whole;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (flag != "--shard" && flag != "--durations" && flag != "--out") {
      whole.push_back(arguments[i]);
    } else if (flag == argument) {
      ++i;  // its value
    }
  }
  return whole;
}

Json paths_of(const RunInfo& info) { return to_json(info)["paths"]; }

/// In what a shard does not belong to the same run as another one; empty where it does.
std::string stranger(const RunRecord& a, const RunRecord& b) {
  const RunInfo &one = a.info, &other = b.info;
  if (one.version != other.version)
    return fmt::format("Lockstep {} and {}", one.version, other.version);
  if (one.shard->of != other.shard->of)
    return fmt::format("one of {} and one of {}", one.shard->of, other.shard->of);
  if (const auto digests = other_digests(one, other); !digests.empty())
    return fmt::format("other {}", fmt::join(digests, ", "));
  if (one.shard->plan != other.shard->plan || one.shard->planned != other.shard->planned)
    return "shards of other plans: other cases, paths or devices were selected";
  if (one.level != other.level || one.min_judged != other.min_judged ||
      one.devices != other.devices || paths_of(one) != paths_of(other))
    return "begun with other options";
  for (const auto& [worker, environment] : a.environment.items()) {
    if (!b.environment.contains(worker)) continue;
    if (const auto others = other_settings(environment, b.environment[worker]); !others.empty())
      return fmt::format("the {} worker has {} {} and {}", worker, others.front().key,
                         others.front().one.dump(), others.front().other.dump());
  }
  return {};
}

/// The missing ones of so many shards: "2 and 5".
std::string missing(const std::vector<RunRecord>& shards) {
  std::set<std::size_t> there;
  for (const RunRecord& each : shards) there.insert(each.info.shard->number);
  std::vector<std::size_t> absent;
  const std::size_t of = shards.front().info.shard->of;
  constexpr std::size_t kNamed = 20;
  for (std::size_t number = 1; number <= of && absent.size() <= kNamed; ++number) {
    if (!there.contains(number)) absent.push_back(number);
  }
  if (absent.empty()) return {};
  const bool more = absent.size() > kNamed;
  if (more) absent.pop_back();
  return fmt::format("of {} shards {} {} missing{}", of, fmt::join(absent, ", "),
                     absent.size() == 1 ? "is" : "are", more ? ", and more" : "");
}

/// A rule matched nothing if it matched nothing in every shard.
std::vector<UnmatchedExpectation> unmatched_of(const std::vector<RunRecord>& shards) {
  std::map<std::string_view, std::size_t> met;  // the last shard in a row that says so, from 1
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const UnmatchedExpectation& rule : shards[i].end->unmatched) {
      std::size_t& last = met[rule.where];
      if (last == i) last = i + 1;
    }
  }
  std::vector<UnmatchedExpectation> unmatched;
  for (const UnmatchedExpectation& rule : shards.front().end->unmatched) {
    if (met[rule.where] == shards.size()) unmatched.push_back(rule);
  }
  return unmatched;
}

}  // namespace

tl::expected<RunRecord, std::vector<Error>> merge(std::vector<RunRecord> shards) {
  std::vector<Error> errors;
  const auto add = [&](std::string message, std::string hint = "") {
    errors.push_back({std::move(message), std::move(hint)});
  };
  if (shards.empty()) return tl::unexpected(std::vector{Error{"there are no shards", ""}});
  for (const RunRecord& each : shards) {
    if (const std::string why = no_shard(each); !why.empty())
      add(why,
          each.info.shard ? "--resume goes on with it" : "`run --shard NUMBER/OF` makes shards");
  }
  if (!errors.empty()) return tl::unexpected(errors);
  std::stable_sort(shards.begin(), shards.end(), [](const RunRecord& a, const RunRecord& b) {
    return a.info.shard->number < b.info.shard->number;
  });
  for (std::size_t i = 1; i < shards.size(); ++i) {
    if (const std::string why = stranger(shards[0], shards[i]); !why.empty())
      add(fmt::format("{} and {} are of different runs: {}", name_of(shards[0]), name_of(shards[i]),
                      why),
          "shards of one run are of the same commit and torch, with the same options");
    if (shards[i].info.shard->number == shards[i - 1].info.shard->number)
      add(fmt::format("{} and {} are the same shard", name_of(shards[i - 1]), name_of(shards[i])),
          "give each once");
  }
  if (const std::string absent = missing(shards); !absent.empty())
    add(absent, "give the directories of all shards");
  if (!errors.empty()) return tl::unexpected(errors);

  RunRecord whole;
  whole.info = shards.front().info;
  whole.info.arguments = whole_arguments(whole.info.arguments);
  whole.info.plan = whole.info.shard->plan;
  whole.info.planned = whole.info.shard->planned;
  whole.info.merged = shards.size();
  whole.info.shard.reset();
  whole.end.emplace();
  whole.end->unmatched = unmatched_of(shards);
  std::map<std::size_t, const RunRecord*> of_place;
  for (RunRecord& each : shards) {
    whole.info.started = std::min(whole.info.started, each.info.started);
    whole.end->seconds = std::max(whole.end->seconds, each.end->seconds);
    for (const auto& [worker, environment] : each.environment.items()) {
      if (!whole.environment.contains(worker)) whole.environment[worker] = environment;
    }
    for (Verdict& verdict : each.verdicts) {
      const auto [found, is_new] = of_place.emplace(verdict.facts.index, &each);
      if (!is_new)
        add(fmt::format("{} has the verdict {} of {}, too", name_of(each), verdict.facts.id,
                        name_of(*found->second)),
            "shards that were balanced need the same --durations");
      whole.verdicts.push_back(std::move(verdict));
    }
  }
  sort_by_place(whole.verdicts);
  std::vector<std::string_view> ids;
  for (const Verdict& verdict : whole.verdicts) ids.push_back(verdict.facts.id);
  if (errors.empty() && (ids.size() != whole.info.planned || digest_of(ids) != whole.info.plan))
    add(fmt::format("the shards have {} verdicts together, and not those of the plan, which has {}",
                    ids.size(), whole.info.planned),
        "shards that were balanced need the same --durations");
  constexpr std::size_t kShown = 10;
  if (errors.size() > kShown) {
    const std::size_t rest = errors.size() - kShown;
    errors.resize(kShown);
    add(and_more(rest));
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return whole;
}

}  // namespace lockstep
