#include "record/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace lockstep {

void sort_by_place(std::vector<Verdict>& verdicts) {
  std::stable_sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    return a.facts.index < b.facts.index;
  });
}

Json to_json(const RunInfo& info) {
  Json paths = Json::array();
  for (const PathInfo& path : info.paths) {
    Json& written = paths.emplace_back(
        Json{{"name", path.name}, {"title", path.title}, {"contract", path.contract}});
    written["digest"] = path.digest;
    written["declared"] = path.declared;
  }
  Json absent = Json::array();
  for (const AbsentPath& path : info.absent_paths)
    absent.push_back({{"name", path.name}, {"reason", path.reason}});
  Json written = {{"type", "run"},
                  {"format", kLogFormat},
                  {"version", info.version},
                  {"started", info.started},
                  {"arguments", info.arguments},
                  {"directory", info.directory},
                  {"level", info.level},
                  {"digests", info.digests},
                  {"plan", info.plan},
                  {"planned", info.planned},
                  {"jobs", info.jobs},
                  {"min_judged", info.min_judged ? Json(*info.min_judged) : Json()},
                  {"paths", paths},
                  {"absent_paths", absent},
                  {"devices", info.devices}};
  if (info.shard)
    written["shard"] = {{"number", info.shard->number},
                        {"of", info.shard->of},
                        {"plan", info.shard->plan},
                        {"planned", info.shard->planned}};
  if (info.repeated_part)
    written["repeated_part"] = {{"times", info.repeated_part->times},
                                {"percent", info.repeated_part->percent},
                                {"seed", info.repeated_part->seed}};
  if (info.merged > 0) written["merged"] = info.merged;
  return written;
}

Json to_json(const CoverageCount& count) {
  Json json = {{"of", count.of}};
  if (!count.path.empty()) json["path"] = count.path;
  json["judged"] = count.judged;
  json["all"] = count.all;
  for (const CoverageGap& gap : count.gaps) {
    Json row = {{"why", gap.why}, {"count", gap.count}};
    if (!gap.names.empty()) row["names"] = gap.names;
    json["gaps"].push_back(std::move(row));
  }
  return json;
}

Json to_json(const RunEnd& end) {
  Json unmatched = Json::array();
  for (const UnmatchedExpectation& rule : end.unmatched) {
    unmatched.push_back({{"where", rule.where}, {"text", rule.text}});
  }
  Json json = {{"type", "end"},
               {"seconds", end.seconds},
               {"interrupted", end.interrupted},
               {"unmatched", unmatched}};
  for (const CoverageCount& count : end.coverage) json["coverage"].push_back(to_json(count));
  return json;
}

CoverageCount coverage_from_json(const Json& json) {
  CoverageCount count{json.at("of"), json.value("path", std::string()), json.at("judged"),
                      json.at("all")};
  for (const Json& gap : json.value("gaps", Json::array())) {
    count.gaps.push_back(
        {gap.at("why"), gap.at("count"), gap.value("names", std::vector<std::string>())});
  }
  return count;
}

Result<RunInfo> run_info_from_json(const Json& json) {
  try {
    const Json& format = json.at("format");
    if (format != kLogFormat) {
      return fail(fmt::format("the log has format {}; this Lockstep reads format {}", format.dump(),
                              kLogFormat));
    }
    RunInfo info;
    json.at("version").get_to(info.version);
    json.at("started").get_to(info.started);
    json.at("arguments").get_to(info.arguments);
    info.directory = json.value("directory", std::string());
    json.at("level").get_to(info.level);
    json.at("digests").get_to(info.digests);
    json.at("plan").get_to(info.plan);
    json.at("planned").get_to(info.planned);
    json.at("jobs").get_to(info.jobs);
    for (const Json& path : json.at("paths")) {
      PathInfo& read =
          info.paths.emplace_back(PathInfo{path.at("name"), path.at("title"), path.at("contract")});
      path.at("digest").get_to(read.digest);
      read.declared = path.at("declared");
    }
    if (const Json& least = json.at("min_judged"); !least.is_null()) info.min_judged = least;
    for (const Json& path : json.at("absent_paths"))
      info.absent_paths.push_back({path.at("name"), path.at("reason")});
    json.at("devices").get_to(info.devices);
    if (const auto shard = json.find("shard"); shard != json.end())
      info.shard =
          ShardInfo{shard->at("number"), shard->at("of"), shard->at("plan"), shard->at("planned")};
    if (const auto part = json.find("repeated_part"); part != json.end())
      info.repeated_part = RepeatedPart{part->at("times"), part->at("percent"), part->at("seed")};
    info.merged = json.value("merged", std::size_t{0});
    return info;
  } catch (const Json::exception& error) {
    return fail(fmt::format("the log's first record is not what a run writes: {}", error.what()));
  }
}

Result<RunEnd> run_end_from_json(const Json& json) {
  try {
    RunEnd end;
    json.at("seconds").get_to(end.seconds);
    json.at("interrupted").get_to(end.interrupted);
    for (const Json& rule : json.at("unmatched"))
      end.unmatched.push_back({rule.at("where"), rule.at("text")});
    for (const Json& count : json.value("coverage", Json::array()))
      end.coverage.push_back(coverage_from_json(count));
    return end;
  } catch (const Json::exception& error) {
    return fail(fmt::format("the log's last record is not what a run writes: {}", error.what()));
  }
}

}  // namespace lockstep
