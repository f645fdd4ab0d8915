#include "run/verdict_cache.h"

#include <fmt/format.h>

#include <fstream>

#include "base/json.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace fs = std::filesystem;
Result<VerdictCache> VerdictCache::open(const fs::path& folder, const std::string& setting) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()),
                "--reuse keeps verdicts there: choose another LOCKSTEP_CACHE");
  VerdictCache cache;
  cache.file_ = folder / (setting + ".jsonl");
  std::ifstream file(cache.file_);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("verdict") || !json.value("key", Json()).is_string() ||
        !json.value("started", Json()).is_string())
      continue;
    auto verdict = verdict_from_json(json["verdict"]);
    if (!verdict || !contradiction(*verdict).empty()) continue;
    verdict->origin.reused = json["started"].get<std::string>();
    cache.verdicts_.insert_or_assign(json["key"].get<std::string>(), std::move(*verdict));
  }
  return cache;
}

const Verdict* VerdictCache::find(const std::string& key) const {
  const auto found = verdicts_.find(key);
  return found == verdicts_.end() ? nullptr : &found->second;
}

Result<void> VerdictCache::keep(const std::string& key, const Verdict& verdict,
                                const std::string& started) {
  if (!writes_ || !worth_keeping(verdict)) return {};
  Verdict kept = verdict;
  kept.account = {};        // expectations are asked anew
  kept.origin.seconds = 0;  // whoever takes it spends none
  kept.origin.phases.clear();
  const std::string line =
      Json({{"key", key}, {"started", started}, {"verdict", to_json(kept)}}).dump() + "\n";
  std::ofstream file(file_, std::ios::app);
  file.write(line.data(), static_cast<std::streamsize>(line.size()));
  file.close();
  if (file) return {};
  writes_ = false;
  return fail(fmt::format("cannot write {}: no verdict is kept for a later run", file_.string()),
              "--reuse keeps verdicts there: make room, or choose another LOCKSTEP_CACHE");
}

bool VerdictCache::worth_keeping(const Verdict& verdict) {
  const Rank rank = info(verdict.found.status).rank;
  const bool settled = rank != Rank::outcome && rank != Rank::reference && rank != Rank::noise;
  return settled && !verdict.found.unstable && verdict.origin.reused.empty();
}

}  // namespace lockstep
