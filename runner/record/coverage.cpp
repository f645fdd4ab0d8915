#include "record/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostInstances = 3;
constexpr std::size_t kMostArguments = 64;

/// Of layouts that a case cannot hold: by their names, since no schema says so.
std::string other_layout(std::string_view name) {
  for (const auto& [part, what] : std::initializer_list<std::pair<std::string_view, const char*>>{
           {"sparse", "sparse tensors"},
           {"indices_copy", "sparse tensors"},
           {"mkldnn", "tensors of oneDNN"},
           {"quantize", "quantized tensors"},
           {"fbgemm", "packed weights"},
           {"nested", "nested tensors"},
           {"padded_tensor", "nested tensors"},
           {"cudnn", "kernels of another device"},
           {"miopen", "kernels of another device"},
           {"overrideable", "kernels of another device"}}) {
    if (name.find(part) != std::string_view::npos && !name.starts_with("aten::fake_quantize"))
      return what;
  }
  for (const std::string_view each :
       {"aten::indices", "aten::values", "aten::values_copy", "aten::coalesce", "aten::col_indices",
        "aten::row_indices", "aten::crow_indices", "aten::ccol_indices", "aten::smm", "aten::hspmm",
        "aten::sspaddmm"}) {
    if (name == each) return "sparse tensors";
  }
  return "";
}

std::string reason_apart(const Operator& op, const Overload& overload) {
  if (std::string why = unbound_reason(op, overload); !why.empty()) {
    if (why.starts_with("writes to ")) return "writes to an argument";
    if (why.starts_with("its argument `")) return "takes what a case cannot hold";
    return why;
  }
  if (op.name.starts_with("aten::_")) return "internal: begins with _";
  if (!overload.on_cpu) return "no kernel for the CPU";
  return other_layout(op.name);
}

/// Verdicts that compared what the path computed: those of processes that died did not.
bool compared(const Verdict& verdict) {
  return info(verdict.status).judged() && !info(verdict.status).crashed() && verdict.share < 1;
}

std::string percent(const CoverageCount& count) {
  const double share =
      count.all == 0 ? 100
                     : 100 * static_cast<double>(count.judged) / static_cast<double>(count.all);
  return fmt::format("{} of {} ({:.1f} %)", count.judged, count.all, share);
}

}  // namespace

std::string CoveredOverload::why_not() const {
  if (!judged.empty()) return "";
  if (not_judged.empty()) return apart.empty() ? "no case of this run calls it" : apart;
  const auto most =
      std::max_element(not_judged.begin(), not_judged.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{}: {}", most->first, most->second);
}

Coverage::Coverage(const Registry& registry) {
  for (const auto& [name, op] : registry.operators()) {
    if (!name.starts_with("aten::")) continue;
    for (const Overload& overload : op.overloads) {
      CoveredOverload covered;
      covered.name = name + "." + overload.name;
      covered.core = overload.has_tag("core");
      covered.apart = reason_apart(op, overload);
      overloads_.emplace(covered.name, std::move(covered));
    }
  }
}

void Coverage::add(const Verdict& verdict) {
  const bool is_judged = compared(verdict);
  std::set<std::string> used;
  for (const std::string& use : verdict.uses) {
    std::vector<std::string> words;
    std::istringstream stream(use);
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) continue;
    const auto found = overloads_.find(words.front());
    if (found == overloads_.end()) continue;
    used.insert(words.front());
    if (!is_judged) continue;
    CoveredOverload& overload = found->second;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t colon = words[i].find(':'), equals = words[i].find('=');
      if (equals != std::string::npos && equals < colon) {
        if (overload.arguments.size() < kMostArguments) overload.arguments.insert(words[i]);
      } else if (colon != std::string::npos) {
        overload.dtypes.insert(words[i].substr(0, colon));
        overload.layouts.insert(words[i].substr(colon + 1));
      }
    }
  }
  for (const std::string& name : used) {
    if (!is_judged) continue;
    CoveredOverload& overload = overloads_.at(name);
    ++overload.judged[verdict.path];
    if (overload.instances.size() < kMostInstances &&
        !contains(overload.instances, verdict.instance))
      overload.instances.push_back(verdict.instance);
  }
  for (const std::string& name : verdict.operators) {
    const auto found = overloads_.find(name);
    if (found == overloads_.end() || (is_judged && used.contains(name))) continue;
    const std::string what = is_judged            ? "named, but eager did not say that it called it"
                             : verdict.share >= 1 ? "others than the path's own code executed it"
                             : verdict.unsupported_by == "reference"
                                 ? "eager does not return"
                                 : std::string(info(verdict.status).label);
    ++found->second.not_judged[what];
  }
}

std::vector<CoverageCount> Coverage::counts(const std::string& path) const {
  CoverageCount core{"core", 0, 0}, functional{"functional", 0, 0};
  for (const auto& [name, overload] : overloads_) {
    const bool judged = path.empty() ? !overload.judged.empty() : overload.judged.contains(path);
    for (auto [is_in, count] :
         {std::pair(overload.core, &core), std::pair(overload.apart.empty(), &functional)}) {
      count->all += is_in;
      count->judged += is_in && judged;
    }
  }
  return {core, functional};
}

std::set<std::string> Coverage::paths() const {
  std::set<std::string> names;
  for (const auto& [name, overload] : overloads_) {
    for (const auto& [path, count] : overload.judged) names.insert(path);
  }
  return names;
}

Coverage coverage_of(const RunRecord& record, const Registry& registry) {
  Coverage coverage(registry);
  for (const Verdict& verdict : record.verdicts) coverage.add(verdict);
  return coverage;
}

std::string coverage_line(const std::vector<CoverageCount>& counts) {
  if (counts.size() < 2 || counts[0].all == 0) return "";
  return fmt::format("{} of {} core overloads and {} of {} functional ones", counts[0].judged,
                     counts[0].all, counts[1].judged, counts[1].all);
}

std::string coverage_text(const Coverage& coverage, bool all) {
  std::set<std::string> paths = coverage.paths();
  std::size_t width = 8;
  for (const std::string& path : paths) width = std::max(width, path.size());
  std::string text = fmt::format("{:<{}}  {:<24}  {}\n", "path", width, "core", "functional");
  const auto row = [&](const std::string& shown, const std::vector<CoverageCount>& counts) {
    text +=
        fmt::format("{:<{}}  {:<24}  {}\n", shown, width, percent(counts[0]), percent(counts[1]));
  };
  for (const std::string& path : paths) row(path, coverage.counts(path));
  row("any path", coverage.counts());
  std::map<std::string, std::vector<std::string>> core, functional, apart;
  for (const auto& [name, overload] : coverage.overloads()) {
    if (!overload.judged.empty()) continue;
    if (overload.core)
      core[overload.why_not()].push_back(name.substr(6));
    else if (overload.apart.empty())
      functional[overload.why_not()].push_back(name.substr(6));
    else
      apart[overload.apart].push_back(name.substr(6));
  }
  const auto list = [&](const char* title, const auto& groups, bool names) {
    if (groups.empty()) return;
    text += fmt::format("\n{}\n", title);
    for (const auto& [why, overloads] : groups) {
      text += fmt::format("  {:>5}  {}\n", overloads.size(), why);
      for (const std::string& name : overloads) {
        if (names) text += fmt::format("         {}\n", name);
      }
    }
  };
  list("core, not judged:", core, true);
  list("functional, not judged:", functional, all);
  list("neither, which no rule can call:", apart, false);
  return text;
}

Json to_json(const Coverage& coverage) {
  Json json = {{"format", 1}, {"counts", Json::array()}, {"overloads", Json::array()}};
  const auto add = [&](const std::string& path) {
    for (const CoverageCount& count : coverage.counts(path)) {
      Json row = {{"of", count.of}, {"judged", count.judged}, {"all", count.all}};
      if (!path.empty()) row["path"] = path;
      json["counts"].push_back(std::move(row));
    }
  };
  add("");
  for (const std::string& path : coverage.paths()) add(path);
  for (const auto& [name, overload] : coverage.overloads()) {
    Json row = {{"name", name}, {"core", overload.core}, {"functional", overload.apart.empty()}};
    if (!overload.apart.empty()) row["apart"] = overload.apart;
    if (overload.judged.empty()) {
      row["why_not"] = overload.why_not();
    } else {
      row["judged"] = overload.judged;
      row["dtypes"] = overload.dtypes;
      row["layouts"] = overload.layouts;
      row["arguments"] = overload.arguments;
      row["instances"] = overload.instances;
    }
    json["overloads"].push_back(std::move(row));
  }
  return json;
}

}  // namespace lockstep
