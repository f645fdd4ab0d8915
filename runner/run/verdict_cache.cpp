#include "run/verdict_cache.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <vector>

#include "base/bounded_json.h"
#include "base/json.h"
#include "base/parallel.h"
#include "verdict/contradiction.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

struct Kept {
  std::string key;
  Verdict verdict;
};

/// What a line keeps; nothing where it is not what `keep` writes.
std::optional<Kept> kept_in(std::string_view line) {
  constexpr std::size_t kDeepest = 64;
  const auto json = parse_bounded_json(line, {line.size(), kDeepest, line.size()});
  if (!json || !json->is_object()) return std::nullopt;
  const auto key = json->find("key"), started = json->find("started"),
             verdict = json->find("verdict");
  for (const auto& each : {key, started, verdict}) {
    if (each == json->end()) return std::nullopt;
  }
  if (!key->is_string() || !started->is_string()) return std::nullopt;
  auto read = verdict_from_json(*verdict);
  if (!read || !contradiction(*read).empty()) return std::nullopt;
  read->origin.reused = started->get<std::string>();
  return Kept{key->get<std::string>(), std::move(*read)};
}

}  // namespace

Result<VerdictCache> VerdictCache::open(const fs::path& folder, const std::string& setting) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()),
                "--reuse keeps verdicts there: choose another LOCKSTEP_CACHE");
  VerdictCache cache;
  cache.file_ = folder / (setting + ".jsonl");
  std::ifstream file(cache.file_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  std::vector<std::optional<Kept>> kept(lines.size());
  in_parallel(lines.size(), 16, [&](std::size_t i) { kept[i] = kept_in(lines[i]); });
  for (std::optional<Kept>& each : kept) {
    if (each) cache.verdicts_.insert_or_assign(std::move(each->key), std::move(each->verdict));
  }
  return cache;
}

std::optional<Verdict> VerdictCache::take(const std::string& key) {
  auto node = verdicts_.extract(key);
  return node ? std::optional(std::move(node.mapped())) : std::nullopt;
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
