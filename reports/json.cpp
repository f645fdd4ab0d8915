#include "reports/json.h"

#include "base/json.h"
#include "record/judged.h"

namespace lockstep {
namespace {

Json tally_json(const Tally& counts) {
  return {{"conform", counts.conform}, {"failing", counts.failing}, {"known", counts.known},
          {"fixed", counts.fixed},     {"waived", counts.waived},   {"skipped", counts.skipped}};
}

/// In the log a record says what it is; here its place does.
Json without_type(Json json) {
  json.erase("type");
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json run_document(const RunRecord& record) {
  Json document = {{"format", kLogFormat}};
  Json run = without_type(to_json(record.info));
  run.erase("format");
  document["run"] = std::move(run);
  document["environment"] = record.environment;
  document["tally"] = tally_json(tally(record, false));
  document["tally_strict"] = tally_json(tally(record, true));
  const Judged counts = judged(record);
  document["judged"] = {{"judged", counts.judged}, {"could", counts.could}};
  document["complete"] = record.complete();
  document["end"] = record.end ? without_type(to_json(*record.end)) : Json();
  Json& verdicts = document["verdicts"] = Json::array();
  for (const Verdict& verdict : record.verdicts) verdicts.push_back(to_json(verdict));
  return document;
}

std::string run_json(const RunRecord& record) {
  const Json document = run_document(record);
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += (text.size() > 1 ? ",\n" : "\n") + text_of(key) + ": ";
    if (key != "verdicts" || value.empty()) {
      text += text_of(value);
      continue;
    }
    std::string separator = "[\n  ";
    for (const Json& verdict : value) {
      text += separator + text_of(verdict);
      separator = ",\n  ";
    }
    text += "\n]";
  }
  return text + "\n}\n";
}

}  // namespace lockstep
