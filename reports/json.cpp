#include "reports/json.h"

#include "base/json.h"
#include "record/judged.h"
#include "record/tally.h"
#include "reports/fingerprints.h"
#include "reports/ladder.h"
#include "reports/operators.h"

namespace lockstep {
namespace {

Json tally_json(const Tally& counts) {
  Json json = Json::object();
  for (const ColumnInfo* column : columns_as_read())
    json[std::string(column->name)] = counts[column->column];
  return json;
}

/// What conforms, by grade, and how much of it says little.
Json conform_json(const Tally& counts) {
  Json json = Json::object();
  const std::vector<std::string> names = grade_names();
  for (std::size_t grade = 0; grade < names.size(); ++grade)
    json[names[grade]] = counts.grades[grade];
  json["ungraded"] = counts.ungraded;
  json["weak"] = counts.weak;
  json["vacuous"] = counts.vacuous;
  json["partly"] = counts.partly;
  json["stated"] = counts.stated;
  json["warn_otherwise"] = counts.warn_otherwise;
  return json;
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

Json run_frame(const RunRecord& record) {
  Json document = {{"format", kLogFormat}};
  Json run = without_type(to_json(record.info));
  run.erase("format");
  document["run"] = std::move(run);
  document["environment"] = record.environment;
  const Tally counts = tally(record, false);
  document["tally"] = tally_json(counts);
  document["tally_strict"] = tally_json(tally(record, true));
  document["conform_by"] = conform_json(counts);
  document["unverified"] = counts.unverified;
  const Judged share = judged(record);
  document["judged"] = {{"judged", share.judged}, {"could", share.could}};
  const Json ladder = ladder_json(record);
  document["layers"] = ladder["layers"];
  document["diverging"] = ladder["diverging"];
  document["fingerprints"] = fingerprints_json(record, false);
  document["operators"] = operators_json(record, false);
  document["complete"] = record.complete();
  document["end"] = record.end ? without_type(to_json(*record.end)) : Json();
  return document;
}

Json verdict_document(const Verdict& verdict) {
  Json entry = to_json(verdict);
  for (const Fingerprint& fingerprint : explained_fingerprints_of(verdict))
    entry["fingerprints"].push_back(fingerprint.name);
  if (!verdict.account.explained.is_null()) entry["explanation"] = verdict.account.explained;
  return entry;
}

Json run_document(const RunRecord& record) {
  Json document = run_frame(record);
  Json& verdicts = document["verdicts"] = Json::array();
  for (const Verdict& verdict : record.verdicts) verdicts.push_back(verdict_document(verdict));
  return document;
}

std::string run_json(const RunRecord& record) {
  const Json document = run_frame(record);
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += (text.size() > 1 ? ",\n" : "\n") + text_of(key) + ": " + text_of(value);
  }
  text += ",\n\"verdicts\": [";
  std::string separator = "\n  ";
  for (const Verdict& verdict : record.verdicts) {  // one at a time: all of them are much memory
    text += separator + text_of(verdict_document(verdict));
    separator = ",\n  ";
  }
  return text + (record.verdicts.empty() ? "]" : "\n]") + "\n}\n";
}

}  // namespace lockstep
