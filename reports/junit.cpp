#include "reports/junit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "record/judged.h"
#include "record/tally.h"
#include "reports/by_path.h"
#include "reports/closing.h"
#include "reports/markup.h"
#include "reports/rendered.h"
#include "reports/text.h"

namespace lockstep {
namespace {

std::string attribute(std::string_view name, std::string_view value) {
  return xml_attribute(name, unmarked(value));
}

std::string property(std::string_view name, std::string_view value) {
  return "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
}

std::string time_attribute(double seconds) { return fmt::format(" time=\"{:.3f}\"", seconds); }

/// Jenkins makes a tree of the dots, so that a name has none.
std::string class_name(const Verdict& verdict) {
  std::vector<std::string> place = place_of(verdict);
  for (std::string& part : place) std::replace(part.begin(), part.end(), '.', '_');
  return fmt::format("{}", fmt::join(place, "."));
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(JunitElement element, double time) {
    ++tests;
    failures += element == JunitElement::failure;
    errors += element == JunitElement::error;
    skipped += element == JunitElement::skipped;
    seconds += time;
  }
  /// The schema of Jenkins' xUnit plugin has no `skipped` of the whole.
  std::string attributes(bool of_suite) const {
    return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\"{} time=\"{:.3f}\"", tests,
                       failures, errors,
                       of_suite ? fmt::format(" skipped=\"{}\"", skipped) : std::string(), seconds);
  }
};

/// A path's testsuite while it grows.
struct Suite {
  std::string name;
  Counts counts;
  Tally tally;
  std::string cases;
  std::set<std::string> names;  ///< GitLab drops the second of two equal ones

  /// The name, made unique where cleaning has made two the same.
  std::string unique(const std::string& wanted) {
    std::string name_now = clean(wanted);
    for (int i = 2; !names.insert(name_now).second; ++i)
      name_now = fmt::format("{} ({})", clean(wanted), i);
    return name_now;
  }
};

/// What stands in system-out: neither surefire's schema nor that of Jenkins' xUnit plugin knows
/// properties or files of a test case, so these are lines in the form that has become usual.
std::string system_out(const RunRecord& record, const Verdict& verdict, const Rendered& rendered,
                       const Fullness& fullness) {
  const bool passes = rendered.element == JunitElement::pass;
  std::string text;
  if (!passes || fullness.facts_of_all) {
    for (const auto& [name, value] : facts_of(verdict))
      text += fmt::format("[[PROPERTY|{}={}]]\n", name, unmarked(value));
  }
  for (const std::string& file : attachments_of(record, verdict))
    text += fmt::format("[[ATTACHMENT|{}]]\n", unmarked(one_line(clean(file), 1000)));
  if (passes) text += unmarked(rendered_text(verdict, rendered, fullness));
  return text;
}

void add_case(Suite& suite, const RunRecord& record, const Verdict& verdict, bool strict,
              const Fullness& fullness) {
  const Rendered rendered = render(verdict, strict);
  suite.counts.add(rendered.element, verdict.origin.seconds);
  suite.tally.add(verdict, strict);
  suite.cases += "    <testcase" + attribute("name", suite.unique(verdict.facts.instance)) +
                 attribute("classname", class_name(verdict)) +
                 time_attribute(verdict.origin.seconds);
  std::string inside;
  if (rendered.element != JunitElement::pass) {
    const std::string_view tag = name_of(rendered.element);
    // Surefire's schema has no type of what is skipped; the message begins with it.
    inside = fmt::format("      <{}{}{}>{}</{}>\n", tag,
                         attribute("message", one_line(clean(rendered.message), fullness.message)),
                         rendered.element == JunitElement::skipped
                             ? std::string()
                             : xml_attribute("type", rendered.type),
                         xml_text(unmarked(rendered_text(verdict, rendered, fullness))), tag);
  }
  if (const std::string said = system_out(record, verdict, rendered, fullness); !said.empty())
    inside += fmt::format("      <system-out>{}</system-out>\n", xml_text(said));
  suite.cases += inside.empty() ? "/>\n" : ">\n" + inside + "    </testcase>\n";
}

std::string timestamp(const RunRecord& record) {
  const std::string moment = moment_of(record.info);
  return moment.empty() ? moment : xml_attribute("timestamp", moment);
}

std::string host_of(const RunRecord& record) {
  if (!record.environment.contains("machine")) return "localhost";
  const auto& machine = record.environment["machine"];
  for (const char* key : {"hostname", "host"}) {
    if (machine.contains(key) && machine[key].is_string()) return machine[key];
  }
  return "localhost";
}

/// The run and its environment; Jenkins and Azure show them with each testsuite.
std::string properties_of(const RunRecord& record) {
  std::string text =
      property("lockstep.version", record.info.version) +
      property("lockstep.arguments", fmt::format("{}", fmt::join(record.info.arguments, " "))) +
      property("lockstep.plan", record.info.plan) + property("lockstep.host", host_of(record));
  for (const auto& [name, digest] : record.info.digests)
    text += property("lockstep.digest." + name, digest);
  for (const AbsentPath& path : record.info.absent_paths)
    text += property("lockstep.absent." + path.name, path.reason);
  for (const auto& [path, tolerance] : declared_tolerances(record.info))
    text += property("lockstep.tolerance." + path, tolerance);
  for (const auto& [worker, values] : record.environment.items()) {
    if (!values.is_object()) continue;
    for (const auto& [key, value] : values.items()) {
      text +=
          property(fmt::format("{}.{}", worker, key),
                   value.is_string() ? value.get<std::string>()
                                     : value.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  return text;
}

/// What conforms on a path, by grade, how much of it says little, and how much is of unverified
/// cases.
std::string conform_properties(const Tally& counts) {
  std::string text;
  const auto add = [&](std::string_view name, std::size_t count) {
    if (count > 0)
      text += property(fmt::format("lockstep.conform.{}", name), std::to_string(count));
  };
  const std::vector<std::string> names = grade_names();
  for (std::size_t grade = 0; grade < names.size(); ++grade)
    add(names[grade], counts.grades[grade]);
  add("ungraded", counts.ungraded);
  add("weak", counts.weak);
  add("vacuous", counts.vacuous);
  add("partly", counts.partly);
  add("stated", counts.stated);
  if (counts.unverified > 0)
    text += property("lockstep.unverified", std::to_string(counts.unverified));
  return text;
}

/// The extra testsuite of a run that fails as a whole: it did not come to its end, or judged too
/// little; empty for others.
std::string whole_run(const RunRecord& record, bool strict, Counts& total) {
  Counts counts;
  std::string cases;
  const auto add = [&](std::string_view name, std::string_view type, const std::string& message) {
    if (message.empty()) return;
    counts.add(JunitElement::error, 0);
    total.add(JunitElement::error, 0);
    cases += fmt::format(
        "    <testcase name=\"{}\" classname=\"lockstep.run\" time=\"0.000\">\n"
        "      <error{}{}>{}</error>\n    </testcase>\n",
        name, xml_attribute("message", message), xml_attribute("type", type), xml_text(message));
  };
  const std::string end = unfinished_line(record);
  add("complete", "incomplete", end.empty() ? end : "the run was " + end);
  add("judged", "judged_too_little", judged_too_little(record, strict));
  if (cases.empty()) return {};
  return fmt::format("  <testsuite name=\"run\"{}{}>\n{}  </testsuite>\n", counts.attributes(true),
                     timestamp(record), cases);
}

/// The report with so much of each verdict.  Where that is longer than the limit nevertheless, what
/// passes or is skipped is left out, as much as need be, and counted.
std::string junit_of(const RunRecord& record, bool strict, const Fullness& fullness,
                     std::size_t room) {
  std::vector<Suite> suites;
  std::unordered_map<std::string_view, std::size_t> places;
  const auto place_of = [&](const std::string& path) {
    const auto [place, is_new] = places.try_emplace(path, suites.size());
    if (is_new) suites.push_back({path, {}, {}, {}, {}});
    return place->second;
  };
  for (const PathInfo& path : record.info.paths) place_of(path.name);
  Counts total;
  std::size_t size = 0, left_out = 0;
  for (const Verdict& verdict : record.verdicts) {
    Suite* const suite = &suites[place_of(verdict.facts.path)];
    const Rendered rendered = render(verdict, strict);
    const bool fails =
        rendered.element == JunitElement::failure || rendered.element == JunitElement::error;
    if (size > (fails ? room : room / 2)) {
      ++left_out;
      continue;
    }
    const std::size_t before = suite->cases.size();
    add_case(*suite, record, verdict, strict, fullness);
    total.add(rendered.element, verdict.origin.seconds);
    size += suite->cases.size() - before;
  }
  std::string properties = properties_of(record);
  // With each testsuite, unless that is most of the report.
  const bool once = suites.size() * properties.size() > kReportLimit / 4;
  if (left_out > 0) properties += property("lockstep.left_out", std::to_string(left_out));
  const std::string rest = whole_run(record, strict, total);
  if (record.end) total.seconds = record.end->seconds;

  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockstep\"" +
                    total.attributes(false) + ">\n";
  for (const Suite& suite : suites) {
    if (suite.counts.tests == 0) continue;
    xml += "  <testsuite" + attribute("name", suite.name) + suite.counts.attributes(true) +
           timestamp(record) + ">\n    <properties>\n" + properties +
           conform_properties(suite.tally) + "    </properties>\n" + suite.cases +
           "  </testsuite>\n";
    if (once) properties.clear();
  }
  return xml + rest + "</testsuites>\n";
}

}  // namespace

std::string junit(const RunRecord& record, bool strict, std::size_t limit) {
  return fitted(limit, [&](const Fullness& fullness, std::size_t room) {
    return junit_of(record, strict, fullness, room);
  });
}

}  // namespace lockstep
