#include "reports/junit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "record/judged.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/explain.h"
#include "reports/text.h"
#include "reports/tolerated.h"
#include "verdict/cause.h"

namespace lockstep {
namespace {

/// GitLab refuses files of more than 30 MB; nobody reads more than this of one failure.
constexpr std::size_t kTextLimit = 16 * 1024;

std::string escape(std::string_view raw, bool attribute) {
  std::string result;
  for (const char c : clean(raw)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;  // for the sake of "]]>"
      case '"':
        result += attribute ? "&quot;" : "\"";
        break;
      case '\n':
        result += attribute ? "&#10;" : "\n";
        break;
      case '\t':
        result += attribute ? "&#9;" : "\t";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// ` name="value"`.
std::string attribute(std::string_view name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, escape(value, true));
}

std::string property(std::string_view name, std::string_view value) {
  return "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
}

std::string time_attribute(double seconds) { return fmt::format(" time=\"{:.3f}\"", seconds); }

/// How a verdict is told to JUnit.
struct Told {
  JunitElement element;
  std::string type;
  std::string message;
};

Told tell(const Verdict& verdict, bool strict) {
  const StatusInfo& status = info(verdict.status);
  if (verdict.standing == Standing::known || verdict.standing == Standing::waived) {
    if (status.junit == JunitElement::pass) return {JunitElement::pass, {}, {}};
    return {JunitElement::skipped, std::string(name_of(verdict.standing)),
            fmt::format("{}: {}", name_of(verdict.standing),
                        verdict.expectation ? expectation_line(verdict) : headline(verdict))};
  }
  if (verdict.standing == Standing::fixed && verdict.fails(strict) && !status.fails) {
    return {JunitElement::failure, "fixed", "fixed: " + expectation_line(verdict)};
  }
  const bool hidden = status.junit == JunitElement::pass || status.junit == JunitElement::skipped;
  const JunitElement element =
      verdict.fails(strict) && hidden ? JunitElement::failure : status.junit;
  return {element, std::string(status.name),
          fmt::format("{}: {}", status.label, headline(verdict))};
}

/// Jenkins makes a tree of the dots.
std::string class_name(const Verdict& verdict) {
  const std::string_view id = verdict.instance;
  const std::string_view name = id.substr(0, id.find_first_of("[@"));
  const std::size_t slash = name.rfind('/');
  std::string result = "lockstep." + verdict.path;
  if (slash != std::string_view::npos) result += '.' + std::string(name.substr(0, slash));
  std::replace(result.begin(), result.end(), '/', '.');
  return result;
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
  std::string attributes() const {
    return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                       tests, failures, errors, skipped, seconds);
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

/// What a reader should know of a verdict that passes.
std::string note_of(const Verdict& verdict) {
  if (verdict.standing == Standing::fixed && verdict.expectation) {
    return fmt::format("fixed: {}\nremove {}", expectation_line(verdict),
                       verdict.expectation->file);
  }
  const Tolerated let_pass = tolerated(verdict);
  std::string passed = let_pass.output == nullptr ? "" : "differs: " + describe(let_pass);
  if (verdict.reason.empty() && !verdict.unstable && !verdict.vacuous && verdict.weak.empty() &&
      execution_remark(verdict).empty())
    return passed;
  return explain_text(verdict, {.error_limit = kTextLimit / 8, .output_limit = 0}) +
         (passed.empty() ? "" : "\n" + passed);
}

void add_case(Suite& suite, const Verdict& verdict, bool strict) {
  const Told told = tell(verdict, strict);
  suite.counts.add(told.element, verdict.seconds);
  suite.tally.add(verdict, strict);
  suite.cases += "    <testcase" + attribute("name", suite.unique(verdict.instance)) +
                 attribute("classname", class_name(verdict)) + time_attribute(verdict.seconds) +
                 attribute("file", verdict.case_file) +
                 fmt::format(" line=\"{}\"", verdict.case_line);
  std::string properties;
  for (const Cause& cause : causes_of(verdict)) properties += "  " + property("cause", cause.name);
  if (!properties.empty())
    properties = fmt::format("      <properties>\n{}      </properties>\n", properties);
  if (told.element == JunitElement::pass) {
    const std::string note = note_of(verdict);
    suite.cases += note.empty()
                       ? "/>\n"
                       : fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n",
                                     escape(cut(note, kTextLimit), false));
    return;
  }
  const std::string_view tag = name_of(told.element);
  suite.cases +=
      fmt::format(">\n{}      <{}{}{}>{}</{}>\n    </testcase>\n", properties, tag,
                  attribute("message", one_line(clean(told.message))), attribute("type", told.type),
                  escape(cut(explain_text(verdict), kTextLimit), false), tag);
}

/// The run and its environment; Jenkins and Azure show them with each testsuite.
std::string properties_of(const RunRecord& record) {
  std::string text =
      property("lockstep.version", record.info.version) +
      property("lockstep.arguments", fmt::format("{}", fmt::join(record.info.arguments, " "))) +
      property("lockstep.plan", record.info.plan);
  for (const auto& [name, digest] : record.info.digests)
    text += property("lockstep.digest." + name, digest);
  for (const AbsentPath& path : record.info.absent_paths)
    text += property("lockstep.absent." + path.name, path.reason);
  for (const auto& [worker, values] : record.environment.items()) {
    if (!values.is_object()) continue;
    for (const auto& [key, value] : values.items()) {
      using Json = nlohmann::ordered_json;
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

std::string host_of(const RunRecord& record) {
  if (!record.environment.contains("machine")) return "localhost";
  const auto& machine = record.environment["machine"];
  for (const char* key : {"hostname", "host"}) {
    if (machine.contains(key) && machine[key].is_string()) return machine[key];
  }
  return "localhost";
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
        name, attribute("message", message), attribute("type", type), escape(message, false));
  };
  const std::string end = unfinished_line(record);
  add("complete", "incomplete", end.empty() ? end : "the run was " + end);
  add("judged", "judged_too_little", judged_too_little(record, strict));
  if (cases.empty()) return {};
  return fmt::format("  <testsuite name=\"run\"{}{}>\n{}  </testsuite>\n", counts.attributes(),
                     attribute("timestamp", record.info.started), cases);
}

}  // namespace

std::string junit(const RunRecord& record, bool strict) {
  std::vector<Suite> suites;
  for (const PathInfo& path : record.info.paths) suites.push_back({path.name, {}, {}, {}, {}});
  Counts total;
  for (const Verdict& verdict : record.verdicts) {
    auto suite = std::find_if(suites.begin(), suites.end(), [&](const Suite& candidate) {
      return candidate.name == verdict.path;
    });
    if (suite == suites.end()) suite = suites.insert(suites.end(), {verdict.path, {}, {}, {}, {}});
    add_case(*suite, verdict, strict);
    total.add(tell(verdict, strict).element, verdict.seconds);
  }
  const std::string properties = properties_of(record);
  const std::string rest = whole_run(record, strict, total);
  if (record.end) total.seconds = record.end->seconds;

  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lockstep\"" +
                    total.attributes() + attribute("timestamp", record.info.started) + ">\n";
  for (const Suite& suite : suites) {
    if (suite.counts.tests == 0) continue;
    xml += "  <testsuite" + attribute("name", suite.name) + suite.counts.attributes() +
           attribute("timestamp", record.info.started) + attribute("hostname", host_of(record)) +
           ">\n    <properties>\n" + properties + conform_properties(suite.tally) +
           "    </properties>\n" + suite.cases + "  </testsuite>\n";
  }
  return xml + rest + "</testsuites>\n";
}

}  // namespace lockstep
