#include "reports/ctrf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "record/judged.h"
#include "reports/closing.h"
#include "reports/text.h"

namespace lockstep {
namespace {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::int64_t milliseconds(double seconds) {
  return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds) * 1000));
}

/// Milliseconds since 1970; 0 where nobody says when.
std::int64_t since_epoch(const std::string& moment) {
  std::tm time{};
  if (std::sscanf(moment.c_str(), "%d-%d-%dT%d:%d:%d", &time.tm_year, &time.tm_mon, &time.tm_mday,
                  &time.tm_hour, &time.tm_min, &time.tm_sec) != 6)
    return 0;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return static_cast<std::int64_t>(timegm(&time)) * 1000;
}

std::string_view status_of(JunitElement element) {
  if (element == JunitElement::pass) return "passed";
  return element == JunitElement::skipped ? "skipped" : "failed";
}

Json test_of(const RunRecord& record, const Verdict& verdict, const Rendered& rendered,
             const Fullness& fullness) {
  const bool passes = rendered.element == JunitElement::pass;
  Json test = {{"name", one_line(clean(verdict.facts.id), 500)},
               {"status", status_of(rendered.element)},
               {"duration", milliseconds(verdict.origin.seconds)},
               {"rawStatus", info(verdict.found.status).name}};
  if (!passes || fullness.facts_of_all) {
    for (const std::string& part : place_of(verdict)) test["suite"].push_back(clean(part));
    test["filePath"] = clean(verdict.facts.case_file);
    test["line"] = verdict.facts.case_line;
  }
  if (!rendered.message.empty())
    test["message"] = one_line(clean(rendered.message), fullness.message);
  if (const std::string text = rendered_text(verdict, rendered, fullness); !text.empty())
    test[passes ? "snippet" : "trace"] = text;
  if (!passes || fullness.facts_of_all) {
    Json& labels = test["labels"] = Json::object();
    for (const auto& [name, value] : facts_of(verdict)) {
      if (name == "id" || name == "file") continue;  // said above
      const bool several = name == "dtype" || name == "operator" || name == "fingerprint";
      if (several) {
        labels[std::string(name)].push_back(value);
      } else {
        labels[std::string(name)] = value;
      }
    }
    for (const std::string& tag : verdict.facts.tags) test["tags"].push_back(clean(tag));
    test["device"] = clean(verdict.facts.device);
  }
  for (const std::string& file : attachments_of(record, verdict))
    test["attachments"].push_back({{"name", clean(file.substr(file.rfind('/') + 1))},
                                   {"contentType", "application/x-npy"},
                                   {"path", clean(file)}});
  return test;
}

/// A test that fails because the run does as a whole.
Json whole(std::string_view name, const std::string& message) {
  return {{"name", name},
          {"status", "failed"},
          {"duration", 0},
          {"suite", {"lockstep", "run"}},
          {"message", clean(message)}};
}

std::string ctrf_of(const RunRecord& record, bool strict, const Fullness& fullness,
                    std::size_t room) {
  std::size_t passed = 0, failed = 0, skipped = 0, left_out = 0;
  std::string tests;
  const auto add = [&](const Json& test) { tests += (tests.empty() ? "\n" : ",\n") + dump(test); };
  for (const Verdict& verdict : record.verdicts) {
    const Rendered rendered = render(verdict, strict);
    const std::string_view status = status_of(rendered.element);
    if (tests.size() > (status == "failed" ? room : room / 2)) {
      ++left_out;
      continue;
    }
    ++(status == "passed" ? passed : status == "failed" ? failed : skipped);
    add(test_of(record, verdict, rendered, fullness));
  }
  if (const std::string end = unfinished_line(record); !end.empty()) {
    add(whole("run complete", "the run was " + end));
    ++failed;
  }
  if (const std::string too_little = judged_too_little(record, strict); !too_little.empty()) {
    add(whole("run judged", too_little));
    ++failed;
  }
  const std::int64_t start = since_epoch(moment_of(record.info));
  const std::int64_t duration = record.end ? milliseconds(record.end->seconds) : 0;
  const Json tool = {{"name", "lockstep"}, {"version", record.info.version}};
  const Json summary = {{"tests", passed + failed + skipped},
                        {"passed", passed},
                        {"failed", failed},
                        {"skipped", skipped},
                        {"pending", 0},
                        {"other", 0},
                        {"start", start},
                        {"stop", start + duration},
                        {"duration", duration}};
  Json extra = {{"arguments", record.info.arguments},
                {"plan", record.info.plan},
                {"digests", record.info.digests}};
  if (left_out > 0) extra["left_out"] = left_out;
  const Json environment = {{"reportName", "lockstep"},
                            {"extra", {{"workers", record.environment}, {"run", extra}}}};
  return fmt::format(
      "{{\"reportFormat\":\"CTRF\",\"specVersion\":\"1.0.0\",{}\"generatedBy\":"
      "\"lockstep\",\"results\":{{\"tool\":{},\"summary\":{},\"tests\":[{}\n],\"environment\":{}}}}"
      "}\n",
      start > 0 ? "\"timestamp\":" + dump(record.info.started) + "," : "", dump(tool),
      dump(summary), tests, dump(environment));
}

}  // namespace

std::string ctrf(const RunRecord& record, bool strict, std::size_t limit) {
  return fitted(limit, [&](const Fullness& fullness, std::size_t room) {
    return ctrf_of(record, strict, fullness, room);
  });
}

}  // namespace lockstep
