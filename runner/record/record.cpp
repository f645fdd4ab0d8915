#include "record/record.h"

#include <fmt/format.h>

namespace lockstep {

using Json = nlohmann::ordered_json;

Json to_json(const RunInfo& info) {
  Json paths = Json::array();
  for (const PathInfo& path : info.paths) {
    paths.push_back({{"name", path.name}, {"title", path.title}, {"promise", path.promise}});
  }
  return {{"type", "run"},           {"format", info.format},       {"version", info.version},
          {"started", info.started}, {"arguments", info.arguments}, {"directory", info.directory},
          {"level", info.level},     {"suite", info.suite},         {"plan", info.plan},
          {"planned", info.planned}, {"jobs", info.jobs},           {"paths", paths},
          {"devices", info.devices}};
}

Json to_json(const RunEnd& end) {
  Json unmatched = Json::array();
  for (const UnmatchedExpectation& rule : end.unmatched) {
    unmatched.push_back({{"where", rule.where}, {"text", rule.text}});
  }
  return {{"type", "end"},
          {"seconds", end.seconds},
          {"interrupted", end.interrupted},
          {"unmatched", unmatched}};
}

Result<RunInfo> run_info_from_json(const Json& json) {
  try {
    const Json& format = json.at("format");
    if (format != 1 && format != kLogFormat) {
      return fail(fmt::format("the log has format {}; this Lockstep reads the formats 1 to {}",
                              format.dump(), kLogFormat));
    }
    RunInfo info;
    format.get_to(info.format);
    json.at("version").get_to(info.version);
    json.at("started").get_to(info.started);
    json.at("arguments").get_to(info.arguments);
    info.directory = json.value("directory", std::string());
    json.at("level").get_to(info.level);
    json.at("suite").get_to(info.suite);
    json.at("plan").get_to(info.plan);
    json.at("planned").get_to(info.planned);
    json.at("jobs").get_to(info.jobs);
    for (const Json& path : json.at("paths")) {
      info.paths.push_back({path.at("name"), path.at("title"), path.at("promise")});
    }
    json.at("devices").get_to(info.devices);
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
    return end;
  } catch (const Json::exception& error) {
    return fail(fmt::format("the log's last record is not what a run writes: {}", error.what()));
  }
}

}  // namespace lockstep
