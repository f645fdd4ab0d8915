#include "reports/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "reports/text.h"
#include "verdict/status.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostColumns = 60;  ///< of one cell

using Rows = std::vector<std::vector<std::string>>;

/// Rows in columns, each line after `indent`; the first row is the head.
std::string table(Rows rows, const Style& style, const std::string& indent) {
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = cut_columns(one_line(clean(row[i])), kMostColumns);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      line += rows[r][i] + std::string(widths[i] - columns(rows[r][i]) + 2, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += indent + (r == 0 ? style.faint(line) : line) + "\n";
  }
  return text;
}

/// A heading in the margin and what it is about.
std::string section(std::string_view heading, const std::string& text) {
  return fmt::format("{:<10}{}\n", heading, one_line(clean(text)));
}

std::string index_text(const std::vector<std::int64_t>& at) {
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::string label_of(const std::string& status) {
  const StatusInfo* found = find_status(status);
  return found != nullptr ? std::string(found->label) : status;
}

std::string layer_text(const Explanation& explanation) {
  std::vector<std::string> conform, unknown;
  for (const ExplainedLayer& layer : explanation.ladder) {
    if (layer.path == explanation.layer) break;
    const StatusInfo* status = find_status(layer.status);
    if (layer.status == "conform") conform.push_back(layer.path);
    if (status == nullptr || !status->judged()) {
      if (layer.status != "unsupported") unknown.push_back(layer.path);
    }
  }
  std::string text =
      fmt::format("{}: `{}` is the first layer that {}", explanation.layer_title, explanation.layer,
                  explanation.status == "conform" ? "differs" : "diverges so");
  if (!conform.empty())
    text +=
        fmt::format("; {} {}", enumerate(conform), conform.size() == 1 ? "conforms" : "conform");
  if (!unknown.empty()) text += fmt::format("; of {} nothing is known", enumerate(unknown));
  return text;
}

std::string operator_text(const Explanation& explanation) {
  if (explanation.guilty.empty()) return "not found: no step is accused";
  std::vector<std::string> steps;
  for (const std::size_t at : explanation.guilty) {
    const ExplainedStep& step = explanation.steps[at];
    steps.push_back(step.name.empty() ? step.text : step.name);
  }
  const std::string names = enumerate(steps);
  return fmt::format(fmt::runtime(info(explanation.how).full), names,
                     label_of(explanation.steps[explanation.guilty.front()].alone));
}

/// Where the user's program says the accused steps, each once.
std::string source_text(const Explanation& explanation) {
  std::vector<std::string> sources;
  for (const std::size_t at : explanation.guilty) {
    const std::string& source = explanation.steps[at].source;
    if (!source.empty() && !contains(sources, source)) sources.push_back(source);
  }
  return enumerate(sources);
}

/// "38 %", of what adds at least one in a thousand.
std::string share_text(double share) {
  if (share <= 0) return "";
  return share < 0.001 ? "< 0.1 %" : fmt::format("{:.3g} %", 100 * share);
}

/// How much of the divergence there is after each step, a block for each.
std::string sparkline(const std::vector<double>& curve) {
  constexpr std::array<std::string_view, 9> kBlocks = {"▁", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const double share : curve)
    line += kBlocks[static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * 8)];
  return line;
}

std::string step_table(const Explanation& explanation, const Style& style) {
  Rows rows = {{"", "step", "value", "as eager makes it", "adds", "alone", "source"}};
  for (std::size_t i = 0; i < explanation.steps.size(); ++i) {
    const ExplainedStep& step = explanation.steps[i];
    const auto is_in = [&](const std::vector<std::size_t>& steps) {
      return std::find(steps.begin(), steps.end(), i) != steps.end();
    };
    rows.push_back({is_in(explanation.guilty) ? "●"
                    : is_in(explanation.also) ? "○"
                                              : "",
                    step.text, step.value, step.explained, share_text(step.adds),
                    step.alone.empty() ? "" : label_of(step.alone), step.source});
  }
  if (std::all_of(rows.begin() + 1, rows.end(), [](const auto& row) { return row.back().empty(); }))
    rows.front().pop_back();
  return table(std::move(rows), style, "    ");
}

std::string number_table(const Explanation& explanation, const Style& style) {
  Rows rows = {{"step", "type", "at", "eager", "compiled", "fp64 gold", "eager-faithful gold"}};
  for (const ExplainedStep& step : explanation.steps) {
    if (step.eager.empty() && step.compiled.empty()) continue;
    rows.push_back({step.name, step.type, index_text(step.at), step.eager, step.compiled, step.fp64,
                    step.stepwise});
  }
  return rows.size() == 1 ? "" : table(std::move(rows), style, "    ");
}

std::string knobs_text(const Explanation& explanation) {
  std::vector<std::string> ends, other, absent;
  std::size_t tried = 0;
  for (const ExplainedKnob& knob : explanation.knobs) {
    if (knob.ends) ends.push_back(fmt::format("{} ({})", knob.name, knob.title));
    if (knob.status.empty())
      absent.push_back(knob.name);
    else if (!knob.ends && knob.leaves >= 0 && knob.leaves <= 0.5)
      other.push_back(fmt::format("{} leaves {:.0f} %", knob.name, 100 * knob.leaves));
    else if (!knob.ends && knob.status != explanation.status)
      other.push_back(fmt::format("{}: {}", knob.name, label_of(knob.status)));
    tried += knob.status.empty() ? 0 : 1;
  }
  std::string text = ends.empty() ? "none ends it" : enumerate(ends, "or");
  text += fmt::format("; {} tried", tried);
  if (!other.empty()) text += fmt::format("; changed by {}", enumerate(other));
  if (!absent.empty()) text += fmt::format("; not tried: {}", enumerate(absent));
  return text;
}

std::string pass_text(const ExplainedPass& pass) {
  if (pass.subsystem.empty()) return pass.why;
  std::string text = fmt::format("{} of {}", pass.subsystem, pass.backend);
  if (pass.number >= 0) text += fmt::format(", application {}", pass.number);
  if (!pass.what.empty()) text += ": " + pass.what;
  return text;
}

}  // namespace

std::string explanation_text(const Explanation& explanation, const Style& style) {
  std::string text =
      fmt::format("{}  {}\n", style.strong(clean(explanation.id)), label_of(explanation.status));
  if (!explanation.reason.empty()) text += "    " + one_line(clean(explanation.reason)) + "\n";
  text += "\n" + style.strong(one_line(clean(explanation.sentence))) + "\n\n";
  if (!explanation.layer.empty()) {
    text += section("layer", layer_text(explanation));
    if (!explanation.policy.empty()) text += section("policy", explanation.policy);
    text += section("operator", operator_text(explanation));
    if (const std::string source = source_text(explanation); !source.empty())
      text += section("source", source);
    if (!explanation.observing.empty()) {
      std::string seen = "seeing every value at once: the divergence " + explanation.observing;
      if (!explanation.ended_by.empty())
        seen += fmt::format("; seeing {} alone ends it", enumerate(explanation.ended_by, "or"));
      text += section("", seen);
    }
    if (!explanation.cast.empty()) text += section("", explanation.cast);
    if (!explanation.amplifier.empty())
      text += section("", fmt::format("`{}` amplifies what it is given", explanation.amplifier));
    for (const std::string& by : explanation.borne_out) text += section("", by);
    text += step_table(explanation, style);
    if (explanation.curve.size() > 1)
      text += section("curve",
                      sparkline(explanation.curve) + "  how much of it there is after each step");
    if (const std::string numbers = number_table(explanation, style); !numbers.empty())
      text += section("numbers", "at the worst element") + numbers;
    if (!explanation.knobs.empty()) text += section("knobs", knobs_text(explanation));
    if (const std::string pass = pass_text(explanation.pass); !pass.empty())
      text += section("pass", pass);
  }
  for (const std::string& condition : explanation.conditions)
    text += section("takes", condition + ": without it the divergence ends");
  for (const std::string& other : explanation.besides) text += section("besides", other);
  for (const std::string& open : explanation.open) text += section("open", open);
  return text +
         style.faint(fmt::format("{}, {} executions", format_seconds(explanation.seconds),
                                 grouped(explanation.executions))) +
         "\n";
}

}  // namespace lockstep
