#include "reports/story.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "reports/text.h"
#include "verdict/differences.h"
#include "verdict/finding.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

/// Collects lines; every text goes through clean().
class Lines {
 public:
  void add(Part part, std::string_view text) {
    lines_.push_back({part, one_line(clean(text), 2000)});
  }

  /// A text of several lines, indented.
  void block(Part part, std::string_view text, std::size_t limit) {
    std::string rest = cut(clean(text), limit);
    while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) rest.pop_back();
    for (std::size_t begin = 0; begin < rest.size();) {
      const std::size_t end = std::min(rest.find('\n', begin), rest.size());
      const std::string line = rest.substr(begin, end - begin);
      lines_.push_back({part, line.empty() ? line : "  " + line});
      begin = end + 1;
    }
  }

  std::vector<StoryLine> take() { return std::move(lines_); }

 private:
  std::vector<StoryLine> lines_;
};

std::string at_index(const std::vector<std::int64_t>& index) {
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// "y: float32[4, 5] under bits: 12 of 20 elements differ, by up to 3.5e-05, relative 2.4e-04,
/// 2,048 ulp; grade close"
std::string numbers_of(const OutputComparison& output) {
  std::string text = fmt::format("{}: {} under {}", output.name, output.type, output.policy);
  if (output.differing > 0) text += ": " + size_of_difference(output);
  if (output.grade) text += fmt::format("; grade {}", name_of(*output.grade));
  if (output.vacuous) text += "; vacuous: all zeros, all NaN or empty";
  return text;
}

void add_output(Lines& lines, const OutputComparison& output, std::string_view told) {
  // The verdict's reason is usually that of its worst output: once is enough.
  if (!output.reason.empty() && told.find(output.reason) == std::string_view::npos) {
    lines.add(Part::numbers, fmt::format("{}: {}", output.name, output.reason));
  }
  // What is no tensor, such as how the results alias, has no numbers.
  if (!output.type.empty()) lines.add(Part::numbers, numbers_of(output));
  if (!output.first.empty()) {
    // Of a pointwise case the first elements tell more than the worst.
    const std::string classes = describe(output.classes);
    if (told.find(classes) == std::string_view::npos) lines.add(Part::numbers, "  " + classes);
    for (const FirstDifference& first : output.first)
      lines.add(Part::numbers, "  " + describe(first, first.inputs.size()));
    return;
  }
  if (output.eager.empty() && output.compiled.empty()) return;
  const std::string place = output.worst.empty() ? std::string() : " at " + at_index(output.worst);
  const std::string values = fmt::format("eager {}, compiled {}", output.eager, output.compiled);
  if (told.find(values) != std::string_view::npos) return;
  lines.add(Part::numbers, fmt::format("  worst{}: {}", place, values));
}

void add_error(Lines& lines, std::string_view side, const std::optional<RaisedError>& error,
               std::size_t limit) {
  if (!error) return;
  std::string text = fmt::format("{} raised {}", side, error->class_name);
  if (!error->stage.empty()) text += fmt::format(" (stage {})", error->stage);
  if (!error->wrapped.empty())
    text += fmt::format(", wrapped in {}", fmt::join(error->wrapped, ", "));
  lines.add(Part::error, error->message.empty() ? text : text + ":");
  lines.block(Part::error, error->message, limit);
  if (!error->detail.empty()) lines.block(Part::error, error->detail, limit);
}

}  // namespace

std::string headline(const Verdict& verdict) {
  const std::string reason = one_line(clean(verdict.found.reason));
  return reason.empty() ? std::string(info(verdict.found.status).meaning) : reason;
}

std::string size_of_difference(const OutputComparison& output) {
  std::string text =
      fmt::format("{} of {} elements differ", grouped(static_cast<std::uint64_t>(output.differing)),
                  grouped(static_cast<std::uint64_t>(output.elements)));
  std::vector<std::string> sizes;
  if (output.max_abs) sizes.push_back(fmt::format("{:.3g}", *output.max_abs));
  if (output.max_rel) sizes.push_back(fmt::format("relative {:.3g}", *output.max_rel));
  if (output.max_ulp) sizes.push_back(grouped(*output.max_ulp) + " ulp");
  if (!sizes.empty()) text += fmt::format(", by up to {}", fmt::join(sizes, ", "));
  return text;
}

std::string shared_remark(const Verdict& verdict) {
  if (verdict.origin.shared == 0) return {};
  return fmt::format("compiled with {} other{}", grouped(verdict.origin.shared),
                     verdict.origin.shared == 1 ? "" : "s");
}

std::string stability_remark(const Verdict& verdict) {
  if (verdict.found.executions.empty())
    return verdict.found.unstable ? "unstable: the compiled program disagrees with itself" : "";
  std::vector<std::string> parts;
  for (const auto& [status, count] : verdict.found.executions) {
    parts.push_back(fmt::format("{} {}", info(status).label,
                                count == 1 ? "once" : fmt::format("{} times", count)));
  }
  return one_line(
      clean(fmt::format("{}: {}", verdict.found.unstable ? "unstable" : "every time the same",
                        fmt::join(parts, ", "))));
}

std::string execution_remark(const Verdict& verdict) {
  std::string text;
  if (verdict.found.foreign_fraction > 0 && verdict.found.status != Status::fell_back) {
    text = fmt::format("{:.0f} % ran outside the path's own code",
                       100 * verdict.found.foreign_fraction);
    const auto foreign = verdict.found.proof.find("foreign");
    std::vector<std::string> names;
    if (foreign != verdict.found.proof.end() && foreign->is_object()) {
      for (const auto& [name, calls] : foreign->items()) names.push_back(name);
    }
    if (!names.empty()) text += fmt::format(": {}", fmt::join(names, ", "));
  }
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (verdict.found.permitted_fraction > 0)
    add(fmt::format("{:.0f} % ran in operators of `may_call`{}",
                    100 * verdict.found.permitted_fraction,
                    is_mostly_permitted(verdict.found) ? ", so it is not judged" : ""));
  if (verdict.found.execution == Witness::stated) add("the path states who executed it");
  if (!verdict.found.unsaid.empty())
    add("not judged, for nobody can see who executed it: " + verdict.found.unsaid);
  if (conforms_unasked(verdict.found))
    add("not judged, for both sides raise before the backend is asked");
  return one_line(clean(text));
}

std::string expectation_line(const Verdict& verdict) {
  if (!verdict.account.expectation) return {};
  const ExpectationRef& rule = *verdict.account.expectation;
  return one_line(clean(fmt::format("expected {} ({}): {}", info(rule.status).name,
                                    name_of(rule.because), rule.reason)));
}

std::string fingerprints_line(const Verdict& verdict) {
  std::vector<std::string> names;
  for (const Fingerprint& fingerprint : fingerprints_of(verdict)) names.push_back(fingerprint.name);
  if (names.empty()) return {};
  return one_line(
      clean(fmt::format("fingerprint{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "))));
}

std::vector<StoryLine> story_of(const Verdict& verdict, const StoryOptions& options) {
  Lines lines;
  if (options.title && !verdict.facts.title.empty()) lines.add(Part::title, verdict.facts.title);
  lines.add(Part::reason, headline(verdict));
  if (const std::string fingerprints = fingerprints_line(verdict); !fingerprints.empty())
    lines.add(Part::note, fingerprints);
  if (verdict.account.explained.is_object())
    lines.add(Part::note,
              "explained: " + verdict.account.explained.value("sentence", std::string()));
  if (!verdict.facts.reference.empty())
    lines.add(Part::note, "eager is that " + verdict.facts.reference);
  if (verdict.facts.threads > 0)
    lines.add(Part::note, fmt::format("executed with {} thread{}", verdict.facts.threads,
                                      verdict.facts.threads == 1 ? "" : "s"));
  for (const OutputComparison& output : verdict.found.outputs) {
    if (options.all_outputs || output.status != Status::conform)
      add_output(lines, output, verdict.found.reason);
  }
  // The judge may have said it with numbers.
  if (verdict.found.nearer && verdict.found.reason.find("fp64") == std::string::npos) {
    lines.add(Part::note, info(*verdict.found.nearer).sentence);
  }
  if (const std::string remark = stability_remark(verdict); !remark.empty())
    lines.add(Part::note, remark);
  if (verdict.origin.shared > 0) lines.add(Part::note, shared_remark(verdict));
  if (!verdict.origin.reused.empty())
    lines.add(Part::note,
              "made by the run of " + verdict.origin.reused + ": --reuse found nothing changed");
  if (verdict.found.vacuous && verdict.found.status == Status::conform)
    lines.add(Part::note, "vacuous: agreement here says little");
  if (!verdict.found.weak.empty()) lines.add(Part::note, "weak: " + verdict.found.weak);
  if (const std::string remark = execution_remark(verdict); !remark.empty())
    lines.add(Part::note, remark);
  if (const auto& warnings = verdict.found.warnings) {
    for (const std::string& each : warnings->lost)
      lines.add(Part::note, "eager alone warns: " + one_line(each));
    for (const std::string& each : warnings->added)
      lines.add(Part::note, "compiled alone warns: " + one_line(each));
  }
  if (verdict.found.front_end)
    lines.add(Part::note,
              "front end: it is raised while the program is traced; no backend was reached");
  add_error(lines, "eager", verdict.found.eager_error, options.error_limit);
  add_error(lines, verdict.facts.path, verdict.found.compiled_error, options.error_limit);
  if (info(verdict.found.status).stderr_tells && !verdict.origin.stderr_tail.empty()) {
    lines.add(Part::output, "the end of standard error:");
    lines.block(Part::output, verdict.origin.stderr_tail, options.output_limit);
  }
  if (verdict.account.expectation) {
    lines.add(Part::expectation, expectation_line(verdict));
    lines.add(Part::expectation, "  " + verdict.account.expectation->file);
    if (!verdict.account.expectation->link.empty())
      lines.add(Part::link, verdict.account.expectation->link);
  }
  for (const std::string& link : verdict.facts.links) {
    if (!verdict.account.expectation || link != verdict.account.expectation->link)
      lines.add(Part::link, link);
  }
  if (!verdict.origin.repro.empty()) lines.add(Part::repro, verdict.origin.repro);
  return lines.take();
}

std::string story_text(const Verdict& verdict, const StoryOptions& options) {
  std::string text;
  for (const StoryLine& line : story_of(verdict, options)) {
    if (!text.empty()) text += '\n';
    text += line.text;
  }
  return text;
}

}  // namespace lockstep
