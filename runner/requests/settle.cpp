#include "requests/settle.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/random.h"
#include "plan/shard.h"
#include "requests/member.h"
#include "requests/reporting.h"
#include "requests/surroundings.h"

namespace lockstep {
namespace {

bool is_seed(const std::string& text) {
  return !text.empty() && text.size() < 19 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// A seed below a number that looks like nothing: five digits are enough to type again.
std::string random_seed(std::uint64_t below = 100000) {
  return std::to_string(random_bits() % below);
}

Answer<void> settle_shard(std::string& shard) {
  if (shard.empty()) return {};
  const auto parsed = parse_shard(shard, environment_variable);
  if (!parsed) return refuse(Exit::usage, parsed.error());
  shard = fmt::format("{}/{}", parsed->number, parsed->of);
  return {};
}

}  // namespace

Answer<void> settle_seed(const std::string& flag, std::string& seed) {
  if (seed.empty()) seed = random_seed();
  if (is_seed(seed)) return {};
  return refuse(Exit::usage, {fmt::format("found {} {}, expected a whole number", flag, seed), ""});
}

Answer<void> settle_fresh(std::string& seed) {
  constexpr std::uint64_t kBelow = 1'000'000'000'000'000;  // more than anybody computes in advance
  if (seed.empty()) seed = random_seed(kBelow);
  if (seed == kNoneFresh) return {};
  return settle_seed("--fresh-seed", seed);
}

Answer<void> settle(RunRequest& request) {
  // A run that is gone on with has its own.
  const bool is_begun = !request.resume.empty();
  if (!is_begun && (request.reporting.strict || !request.fresh_seed.empty())) {
    if (auto seed = settle_fresh(request.fresh_seed); !seed) return seed;
  }
  if (request.shuffle == "random") request.shuffle = random_seed();
  if (!request.shuffle.empty() && !is_seed(request.shuffle))
    return refuse(
        Exit::usage,
        {fmt::format("found --shuffle={}, expected a whole number as seed", request.shuffle), ""});
  if (request.repeat_percent < 100 || !request.repeat_seed.empty()) {
    if (auto seed = settle_seed("--repeat-seed", request.repeat_seed); !seed) return seed;
  }
  if (auto shard = settle_shard(request.shard); !shard) return shard;
  if (auto cluster = parse_cluster(request.on, request.basis.at.directory); !cluster)
    return refuse(Exit::usage, cluster.error());
  if (!request.durations.empty() && request.shard.empty() && request.on.empty())
    return refuse(Exit::usage,
                  {"found --durations without --shard or --on, which it balances", ""});
  const OwnFiles& files = request.basis.files;
  if (!files.known_files.empty() && !files.expectations)
    return refuse(
        Exit::usage,
        {"found --known beside --no-expectations, which judges as if nothing were known", ""});
  return check(request.reporting);
}

}  // namespace lockstep
