#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "certificate/submission.h"

namespace lockstep {
namespace {

Json tolerances_of(const Path& path) {
  Json tolerances = Json::array();
  for (const ToleranceRule& rule : path.declarations.tolerances)
    tolerances.push_back({{"operators", rule.operators},
                          {"dtypes", rule.dtypes},
                          {"rtol", rule.rtol},
                          {"atol", rule.atol},
                          {"reason", rule.reason}});
  return tolerances;
}

Json waivers_of(const Submission& submission) {
  Json waivers = Json::array();
  for (const Expectation& rule : submission.waivers)
    waivers.push_back({{"instances", rule.instances},
                       {"devices", rule.devices},
                       {"environment", rule.environment},
                       {"reason", rule.reason},
                       {"link", rule.link},
                       {"date", rule.date},
                       {"expires", rule.expires}});
  return waivers;
}

/// How many verdicts each declaration is the reason of.
Json declarations_of(const RunRecord& run) {
  std::map<std::string, std::size_t> reasons;
  for (const Verdict& verdict : run.verdicts) {
    if (merit_of(verdict) == Merit::declared) ++reasons[words_of_declaration(verdict.found.reason)];
  }
  Json declarations = Json::array();
  for (const auto& [reason, verdicts] : reasons)
    declarations.push_back({{"reason", reason}, {"verdicts", verdicts}});
  return declarations;
}

}  // namespace

Json statement_of(const Submission& submission, const Assessment& assessment) {
  const RunInfo& run = submission.run.info;
  const auto count = [&](Merit merit) {
    const auto found = assessment.counts.find(merit);
    return found == assessment.counts.end() ? std::size_t{0} : found->second;
  };
  const auto ratio = [](const ClassConformance& each) {
    return Json{{"class", each.name},
                {"judged", each.judged},
                {"could", each.could},
                {"floor", each.floor}};
  };
  const auto fact = [&](const char* worker, const char* name) -> Json {
    if (!submission.run.environment.contains(worker)) return nullptr;
    const Json& values = submission.run.environment[worker];
    return values.is_object() && values.contains(name) ? values[name] : Json();
  };
  Json machine = Json::object();
  const std::string device = run.devices.empty() ? "" : run.devices.front();
  for (const std::string& name : {std::string("cpu"), std::string("cuda"), device})
    if (Json value = fact("machine", name.c_str()); !value.is_null()) machine[name] = value;
  Json packages = Json::object();
  for (const auto& [worker, values] : submission.run.environment.items()) {
    if (worker == "machine" || worker == "eager" || !values.is_object()) continue;
    packages[worker] = values;
  }
  Json classes = Json::array();
  for (const ClassConformance& each : assessment.classes) classes.push_back(ratio(each));
  const auto judge = run.digests.find("judge");
  return {{"format", 1},
          {"level", submission.level_name},
          {"instances", submission.level.instances.size() - submission.not_meant.size()},
          {"path", {{"name", submission.path.name}, {"title", submission.path.title}}},
          {"contract", name_of(submission.path.contract)},
          {"device", device},
          {"machine", std::move(machine)},
          {"torch", fact("eager", "torch")},
          {"packages", std::move(packages)},
          {"lockstep", run.version},
          {"judge", judge == run.digests.end() ? "" : judge->second},
          {"date", run.started.substr(0, 10)},
          {"verdicts",
           {{"conform", count(Merit::conform)},
            {"waived", count(Merit::waived)},
            {"upstream", count(Merit::upstream)},
            {"declared", count(Merit::declared)},
            {"unsupported", count(Merit::unsupported)}}},
          {"executed",
           {{"observed", assessment.observed},
            {"stated", assessment.stated},
            {"unseen", assessment.unseen},
            {"partly", assessment.partly},
            {"permitted", assessment.permitted},
            {"inputs_known", assessment.inputs_known},
            {"drawn", assessment.drawn},
            {"unasked", assessment.unasked}}},
          {"executes", submission.path.declared.value("executes", "")},
          {"may_call", submission.path.declared.value("may_call", Json::array())},
          {"repeated",
           {{"times", run.repeated_part ? run.repeated_part->times : 1},
            {"seed", run.repeated_part ? run.repeated_part->seed : 0},
            {"verdicts", assessment.repeated}}},
          {"judged", ratio(assessment.all)},
          {"classes", std::move(classes)},
          {"declarations", declarations_of(submission.run)},
          {"overdeclared", assessment.overdeclared},
          {"tolerances", tolerances_of(submission.path)},
          {"waivers", waivers_of(submission)}};
}

std::string statement_text(const Json& statement) {
  const auto words = [](const Json& list) {
    return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), ", "));
  };
  const auto ratio = [](const Json& each) {
    return fmt::format("{} of {} (floor {} %)", each["judged"].get<std::size_t>(),
                       each["could"].get<std::size_t>(), each["floor"].get<double>());
  };
  const Json& verdicts = statement["verdicts"];
  const Json& executed = statement["executed"];
  std::string text = fmt::format(
      "{} conforms to Lockstep {} on {}\n\n", statement["path"]["title"].get<std::string>(),
      statement["level"].get<std::string>(), statement["device"].get<std::string>());
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<13} {}\n", name, one_line(value, 400));
  };
  line("path", statement["path"]["name"]);
  line("contract", statement["contract"]);
  for (const auto& [name, value] : statement["machine"].items()) line(name, plain_text(value));
  line("torch", statement["torch"].is_string() ? statement["torch"].get<std::string>() : "none");
  for (const auto& [worker, values] : statement["packages"].items()) {
    for (const auto& [name, value] : values.items()) {
      if (name.starts_with("package ")) line(name.substr(8), plain_text(value));
    }
  }
  line("lockstep", statement["lockstep"]);
  line("judge", statement["judge"]);
  line("date", statement["date"]);
  line("instances", std::to_string(statement["instances"].get<std::size_t>()));
  for (const auto& [name, value] : verdicts.items()) line(name, value.dump());
  line("executes", statement["executes"]);
  if (!statement["may_call"].empty()) line("may call", words(statement["may_call"]));
  line("executed", fmt::format("observed {}, stated {}, nobody looked {}; partly by others {}",
                               executed["observed"].dump(), executed["stated"].dump(),
                               executed["unseen"].dump(), executed["partly"].dump()));
  line("", fmt::format("mostly by operators that it may call {}; inputs known at compile {}",
                       executed["permitted"].dump(), executed["inputs_known"].dump()));
  line("", fmt::format("also on inputs that nobody had seen {}; never asked {}",
                       executed["drawn"].dump(), executed["unasked"].dump()));
  line("repeated",
       fmt::format("{} of the verdicts {} times, seed {}", statement["repeated"]["verdicts"].dump(),
                   statement["repeated"]["times"].dump(), statement["repeated"]["seed"].dump()));
  line("judged", ratio(statement["judged"]));
  for (const Json& each : statement["classes"])
    line("", each["class"].get<std::string>() + ": " + ratio(each));
  for (const Json& each : statement["declarations"])
    line("declares", fmt::format("{} ({})", each["reason"].get<std::string>(),
                                 each["verdicts"].get<std::size_t>()));
  for (const Json& each : statement["overdeclared"])
    line("needlessly", each.get<std::string>() + " is declared as unsupported, and conforms");
  for (const Json& each : statement["tolerances"])
    line("tolerance", fmt::format("{} of {}: rtol {}, atol {}: {}", words(each["operators"]),
                                  words(each["dtypes"]), each["rtol"].dump(), each["atol"].dump(),
                                  each["reason"].get<std::string>()));
  for (const Json& each : statement["waivers"])
    line("waived", fmt::format("{}: {} ({})", words(each["instances"]),
                               each["reason"].get<std::string>(), each["link"].get<std::string>()));
  return text;
}

}  // namespace lockstep
