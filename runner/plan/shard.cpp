#include "plan/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>

#include "base/digest.h"
#include "plan/units.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostShards = 100000;

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "2/5", of which both are in range.
std::optional<Shard> pair(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto which = number(text.substr(0, slash)), of = number(text.substr(slash + 1));
  if (!which || !of || *which < 1 || *which > *of || *of > kMostShards) return std::nullopt;
  return Shard{*which, *of};
}

/// How a job system says which of several jobs this is.
struct JobSystem {
  const char* index;
  const char* first;  ///< a variable with the least index, or the least index itself
  const char* count;
  const char* step = "1";  ///< likewise, between two indices
};

constexpr JobSystem kJobSystems[] = {
    {"CI_NODE_INDEX", "1", "CI_NODE_TOTAL"},                          // GitLab
    {"BUILDKITE_PARALLEL_JOB", "0", "BUILDKITE_PARALLEL_JOB_COUNT"},  // Buildkite
    {"CIRCLE_NODE_INDEX", "0", "CIRCLE_NODE_TOTAL"},                  // CircleCI
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT",
     "SLURM_ARRAY_TASK_STEP"},                              // SLURM's job arrays
    {"JOB_COMPLETION_INDEX", "0", "LOCKSTEP_SHARD_COUNT"},  // Kubernetes' indexed jobs
};

Result<Shard> shard_of_job(const std::function<std::string(const char*)>& environment) {
  if (const std::string said = environment("LOCKSTEP_SHARD"); !said.empty()) {
    if (const auto shard = pair(said)) return *shard;
    return fail(fmt::format("found LOCKSTEP_SHARD={}, expected NUMBER/OF, such as 2/5", said));
  }
  for (const JobSystem& system : kJobSystems) {
    const auto value = [&](const char* name) {
      return name[0] >= '0' && name[0] <= '9' ? std::string(name) : environment(name);
    };
    const std::string index = environment(system.index);
    if (index.empty()) continue;
    const std::string count = environment(system.count);
    if (count.empty())
      return fail(fmt::format("{} is set, but {} is not: nobody says how many shards there are",
                              system.index, system.count),
                  fmt::format("set {} to the number of jobs", system.count));
    const std::string said_step = value(system.step);
    const auto at = number(index), first = number(value(system.first)), of = number(count),
               step = said_step.empty() ? std::optional<std::size_t>(1) : number(said_step);
    if (at && first && of && step && *step > 0 && *at >= *first && *of <= kMostShards &&
        (*at - *first) / *step < *of)
      return Shard{(*at - *first) / *step + 1, *of};
    return fail(fmt::format("found {}={} and {}={}, which name no shard", system.index, index,
                            system.count, count),
                "--shard NUMBER/OF says it");
  }
  std::string names = "LOCKSTEP_SHARD";
  for (const JobSystem& system : kJobSystems) names += fmt::format(", {}", system.index);
  return fail(fmt::format("--shard auto found none of the variables that say which shard this is: "
                          "{}",
                          names),
              "--shard NUMBER/OF says it");
}

/// The shard of each unit, from 0.
std::vector<std::size_t> by_name(const Plan& plan, const std::vector<Unit>& units, std::size_t of) {
  std::vector<std::size_t> shards;
  for (const Unit& unit : units) {
    const std::string hex = Digest().add(plan.instances[unit.begin].id).hex();
    std::uint64_t hash = 0;
    std::from_chars(hex.data(), hex.data() + 16, hash, 16);
    shards.push_back(hash % of);
  }
  return shards;
}

std::vector<std::size_t> by_seconds(const Plan& plan, const std::vector<Unit>& units,
                                    std::size_t of, const std::map<std::string, double>& seconds) {
  const std::vector<double> expected = expected_seconds(plan, seconds);
  std::vector<std::size_t> unit_of(plan.instances.size());
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (std::size_t i = units[unit].begin; i < units[unit].end; ++i) unit_of[i] = unit;
  }
  std::vector<double> cost(units.size(), 0);
  for (std::size_t i = 0; i < plan.items.size(); ++i)
    cost[unit_of[plan.items[i].instance]] += expected[i];
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Ids decide among equals, so that no order of the suite or of the log does.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(cost[b], plan.instances[units[a].begin].id) <
           std::tie(cost[a], plan.instances[units[b].begin].id);
  });
  std::vector<double> load(of, 0);
  std::vector<std::size_t> shards(units.size());
  for (const std::size_t unit : order) {
    const auto least = std::min_element(load.begin(), load.end());
    shards[unit] = static_cast<std::size_t>(least - load.begin());
    *least += cost[unit];
  }
  return shards;
}

}  // namespace

Result<Shard> parse_shard(const std::string& text,
                          const std::function<std::string(const char*)>& environment) {
  if (text == "auto") return shard_of_job(environment);
  if (const auto shard = pair(text)) return *shard;
  return fail(fmt::format("found --shard {}, expected NUMBER/OF, such as 2/5, or auto", text));
}

void take_shard(Plan& plan, const Shard& shard, const std::map<std::string, double>* seconds) {
  const std::vector<Unit> units = units_of(plan);
  const std::vector<std::size_t> shards = seconds == nullptr
                                              ? by_name(plan, units, shard.of)
                                              : by_seconds(plan, units, shard.of, *seconds);
  std::vector<std::size_t> place(plan.instances.size(), SIZE_MAX);  // of what is taken
  std::vector<Instance> instances;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (shards[unit] + 1 != shard.number) continue;
    for (std::size_t i = units[unit].begin; i < units[unit].end; ++i) {
      place[i] = instances.size();
      instances.push_back(std::move(plan.instances[i]));
    }
  }
  std::erase_if(plan.items, [&](const PlanItem& item) { return place[item.instance] == SIZE_MAX; });
  for (PlanItem& item : plan.items) item.instance = place[item.instance];
  plan.instances = std::move(instances);
  std::vector<std::string_view> ids;
  for (const PlanItem& item : plan.items) ids.push_back(item.id);
  plan.digest = digest_of(ids);
}

}  // namespace lockstep
