#include "reports/accuracy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

std::string operators_of(const Verdict& verdict) {
  return fmt::format("{}", fmt::join(verdict.facts.operators, " + "));
}

/// "float16" of an output "float16[65536]"; with the inputs' dtypes where they are others.
std::string dtype_of(const Verdict& verdict, const OutputComparison& output) {
  std::string dtype = output.type.substr(0, output.type.find('['));
  const auto& inputs = verdict.facts.dtypes;
  if (inputs.empty() || contains(inputs, dtype)) return dtype;
  return fmt::format("{} -> {}", fmt::join(inputs, ", "), dtype);
}

void merge(AccuracyRow& row, const OutputComparison& output) {
  row.elements += output.elements;
  row.differing += output.differing;
  for (const Accuracy& more : output.accuracy) {
    const auto kind = std::find(kInputKinds.begin(), kInputKinds.end(), more.inputs);
    if (kind == kInputKinds.end()) continue;
    Accuracy& mine = row.kinds[static_cast<std::size_t>(kind - kInputKinds.begin())];
    mine.inputs = more.inputs;
    mine.elements += more.elements;
    mine.eager = std::max(mine.eager, more.eager);
    mine.compiled = std::max(mine.compiled, more.compiled);
  }
}

bool tells_nothing(const AccuracyRow& row) {
  const bool converts = row.name.starts_with("aten::to.") || row.name == "aten::_to_copy";
  return converts && row.differing == 0 &&
         std::all_of(row.kinds.begin(), row.kinds.end(), [](const Accuracy& kind) {
           return kind.eager <= 0.5 && kind.compiled <= 0.5;
         });
}

std::vector<NotSwept> not_swept_of(const RunRecord& record) {
  std::map<std::string, std::set<std::string>> names;
  for (const Verdict& verdict : record.verdicts) {
    const bool sweep = contains(verdict.facts.tags, "sweep");
    if (sweep && verdict.found.status == Status::unsupported)
      names[verdict.found.reason].insert(operators_of(verdict));
  }
  std::vector<NotSwept> all;
  for (const auto& [reason, of] : names) all.push_back({reason, {of.begin(), of.end()}});
  std::stable_sort(all.begin(), all.end(), [](const NotSwept& a, const NotSwept& b) {
    return a.names.size() > b.names.size();
  });
  return all;
}

std::string ulp_text(double ulp) { return std::isinf(ulp) ? "inf" : fmt::format("{:.3g}", ulp); }

/// Cells in columns as wide as their widest; the first three to the left, numbers to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - columns(line[i]), ' ');
      text += (i == 0 ? "" : "  ") + (i < 3 ? line[i] + padding : padding + line[i]);
    }
    text += '\n';
  }
  return text;
}

/// JSON has no infinity.
Json ulp_json(double ulp) { return std::isinf(ulp) ? Json("inf") : Json(ulp); }

}  // namespace

AccuracyTable accuracy_table(const RunRecord& record) {
  std::map<std::tuple<std::string, std::string, std::string>, AccuracyRow> rows;
  for (const Verdict& verdict : record.verdicts) {
    // The forward pass beside a gradient has a case of its own.
    const bool gradients =
        std::any_of(verdict.found.outputs.begin(), verdict.found.outputs.end(),
                    [](const OutputComparison& output) { return is_gradient(output.name); });
    for (const OutputComparison& output : verdict.found.outputs) {
      if (output.accuracy.empty() || is_gradient(output.name) != gradients) continue;
      const std::string name = operators_of(verdict) + (gradients ? " (gradient)" : "");
      AccuracyRow& row = rows[{name, dtype_of(verdict, output), verdict.facts.path}];
      std::tie(row.name, row.dtype, row.path) =
          std::tuple(name, dtype_of(verdict, output), verdict.facts.path);
      merge(row, output);
    }
  }
  AccuracyTable table;
  for (auto& [key, row] : rows) {
    if (!tells_nothing(row)) table.rows.push_back(std::move(row));
  }
  table.not_swept = not_swept_of(record);
  return table;
}

std::string accuracy_text(const AccuracyTable& table) {
  std::vector<std::vector<std::string>> lines = {
      {"operator", "dtype", "path", "elements", "differing"}};
  for (const std::string_view kind : kInputKinds) {
    lines.front().push_back(fmt::format("{}: eager", kind));
    lines.front().push_back("compiled");
  }
  for (const AccuracyRow& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const std::string& text : {row.name, row.dtype, row.path})
      line.push_back(one_line(clean(text)));
    for (const std::int64_t count : {row.elements, row.differing})
      line.push_back(grouped(static_cast<std::uint64_t>(count)));
    for (const Accuracy& kind : row.kinds) {
      for (const double ulp : {kind.eager, kind.compiled})
        line.push_back(kind.elements == 0 ? "-" : ulp_text(ulp));
    }
  }
  std::string text =
      "Greatest error against the fp64 gold, in ulp of the output's dtype, where the inputs are\n"
      "normal, subnormal or special (zero, infinity, NaN); inf: a NaN or an infinity is "
      "wrong.\n\n" +
      aligned(lines);
  if (table.not_swept.empty()) return text;
  text += "\nnot swept:\n";
  for (const NotSwept& group : table.not_swept) {
    const std::string names = fmt::format("{}", fmt::join(group.names, ", "));
    text += fmt::format("  {} operator{}: `{}`\n    {}\n", grouped(group.names.size()),
                        group.names.size() == 1 ? "" : "s", one_line(clean(group.reason)),
                        one_line(clean(names), 2000));
  }
  return text;
}

Json accuracy_document(const AccuracyTable& table) {
  Json document = {{"format", 1}, {"rows", Json::array()}, {"not_swept", Json::array()}};
  for (const AccuracyRow& row : table.rows) {
    Json& json = document["rows"].emplace_back(Json{{"name", row.name},
                                                    {"dtype", row.dtype},
                                                    {"path", row.path},
                                                    {"elements", row.elements},
                                                    {"differing", row.differing}});
    for (std::size_t i = 0; i < kInputKinds.size(); ++i) {
      const Accuracy& kind = row.kinds[i];
      if (kind.elements == 0) continue;
      json[std::string(kInputKinds[i])] = {{"elements", kind.elements},
                                           {"eager", ulp_json(kind.eager)},
                                           {"compiled", ulp_json(kind.compiled)}};
    }
  }
  for (const NotSwept& group : table.not_swept)
    document["not_swept"].push_back({{"reason", group.reason}, {"names", group.names}});
  return document;
}

std::string accuracy_json(const AccuracyTable& table) {
  const Json document = accuracy_document(table);
  std::string text = "{";
  for (const auto& [key, value] : document.items()) {
    text += (text.size() > 1 ? ",\n" : "\n") + Json(key).dump() + ": ";
    std::string lines;
    if (value.is_array()) {
      for (const Json& line : value) {
        lines += (lines.empty() ? "\n  " : ",\n  ") +
                 line.dump(-1, ' ', false, Json::error_handler_t::replace);
      }
      text += lines.empty() ? "[]" : "[" + lines + "\n]";
    } else {
      text += value.dump();
    }
  }
  return text + "\n}\n";
}

}  // namespace lockstep
