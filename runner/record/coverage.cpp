#include "record/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostInstances = 3;
constexpr std::size_t kMostArguments = 64;  ///< of an overload
constexpr std::size_t kMostNames = 64;      ///< that a gap lists

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
  return info(verdict.found.status).judged() && !info(verdict.found.status).crashed() &&
         verdict.found.foreign_fraction < 1;
}

/// Rounded down: 100 % is all of them.
std::string percent(const CoverageCount& count) {
  const std::size_t tenths = count.all == 0 ? 1000 : count.judged * 1000 / count.all;
  return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

std::string share_text(const CoverageCount& count) {
  return fmt::format("{} of {} ({})", count.judged, count.all, percent(count));
}

std::string gap_text(const std::string& why, const std::vector<std::string>& overloads,
                     bool names) {
  std::string text = fmt::format("  {:>5}  {}\n", overloads.size(), why);
  for (std::string_view name : overloads) {
    if (name.starts_with("aten::")) name.remove_prefix(6);
    if (names) text += fmt::format("         {}\n", name);
  }
  return text;
}

}  // namespace

bool CoveredOverload::is_judged(const std::string& path) const {
  return path.empty() ? !judged.empty() : judged.contains(path);
}

std::string CoveredOverload::why_not(const std::string& path) const {
  std::map<std::string, std::size_t> found;
  for (const auto& [where, reasons] : not_judged) {
    for (const auto& [what, count] : reasons) {
      if (path.empty() || where == path) found[what] += count;
    }
  }
  if (found.empty()) return apart.empty() || is_judged() ? "no case of this run calls it" : apart;
  return std::max_element(found.begin(), found.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
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
  paths_.insert(verdict.facts.path);
  const bool is_judged = compared(verdict);
  std::set<std::string> used;
  for (const std::string& use : verdict.origin.uses) {
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
    ++overload.judged[verdict.facts.path];
    if (overload.instances.size() < kMostInstances &&
        !contains(overload.instances, verdict.facts.instance))
      overload.instances.push_back(verdict.facts.instance);
  }
  for (const std::string& name : verdict.facts.operators) {
    if (is_judged && name.starts_with("torch.")) functions_.insert(name);
    const auto found = overloads_.find(name);
    if (found == overloads_.end() || (is_judged && used.contains(name))) continue;
    const std::string what = is_judged ? "a case names it, but eager did not say that it called it"
                             : verdict.found.foreign_fraction >= 1
                                 ? "the path's own code did not execute it"
                             : verdict.found.unsupported_by == UnsupportedBy::reference
                                 ? "eager does not return"
                                 : std::string(info(verdict.found.status).label);
    ++found->second.not_judged[verdict.facts.path][what];
  }
}

CoverageCount Coverage::count(bool core, const std::string& path) const {
  CoverageCount count{core ? "core" : "functional", path};
  std::map<std::string, std::vector<std::string>> gaps;
  for (const auto& [name, overload] : overloads_) {
    if (core ? !overload.core : !overload.apart.empty()) continue;
    ++count.all;
    if (overload.is_judged(path)) {
      ++count.judged;
    } else {
      gaps[overload.why_not(path)].push_back(name);
    }
  }
  const bool few = count.all - count.judged <= kMostNames;
  for (auto& [why, names] : gaps) {
    const std::size_t size = names.size();
    count.gaps.push_back({why, size, few ? std::move(names) : std::vector<std::string>()});
  }
  return count;
}

std::vector<CoverageCount> Coverage::counts() const {
  std::vector<CoverageCount> counts{count(true, ""), count(false, "")};
  for (const std::string& path : paths_) {
    counts.push_back(count(true, path));
    counts.push_back(count(false, path));
  }
  return counts;
}

CoverageCount Coverage::count(const OpInfoNames& names) const {
  std::set<std::string> called = functions_;
  for (const auto& [name, overload] : overloads_) {
    if (overload.is_judged()) called.insert(name.substr(0, name.rfind('.')));
  }
  CoverageCount count{"opinfo", "", 0, names.size()};
  CoverageGap gap{"no case of this run calls it"};
  for (const auto& [name, aliases] : names) {
    const bool is_judged =
        std::any_of(aliases.begin(), aliases.end(),
                    [&](const std::string& alias) { return called.contains(alias); });
    if (is_judged)
      ++count.judged;
    else
      gap.names.push_back(name);
  }
  gap.count = gap.names.size();
  if (gap.count > 0) count.gaps.push_back(std::move(gap));
  return count;
}

std::string coverage_line(const RunRecord& record) {
  if (!record.end || record.info.level.empty() || record.end->coverage.size() < 2) return "";
  const CoverageCount& core = record.end->coverage[0];
  const CoverageCount& functional = record.end->coverage[1];
  return fmt::format("{} of {} core overloads ({}) and {} of {} functional ones ({})", core.judged,
                     core.all, percent(core), functional.judged, functional.all,
                     percent(functional));
}

std::string coverage_text(const Coverage& coverage, bool all) {
  const std::vector<CoverageCount> counts = coverage.counts();
  std::size_t width = 8;
  for (const CoverageCount& count : counts) width = std::max(width, count.path.size());
  std::string text = fmt::format("{:<{}}  {:<24}  {}\n", "path", width, "core", "functional");
  const auto row = [&](std::size_t i) {
    text += fmt::format("{:<{}}  {:<24}  {}\n", i == 0 ? "any path" : counts[i].path, width,
                        share_text(counts[i]), share_text(counts[i + 1]));
  };
  for (std::size_t i = 2; i < counts.size(); i += 2) row(i);
  row(0);
  std::map<std::string, std::vector<std::string>> core, functional, apart;
  for (const auto& [name, overload] : coverage.overloads()) {
    if (overload.is_judged()) continue;
    if (overload.core)
      core[overload.why_not()].push_back(name);
    else if (overload.apart.empty())
      functional[overload.why_not()].push_back(name);
    else
      apart[overload.apart].push_back(name);
  }
  const auto list = [&](const char* title, const auto& groups, bool names) {
    if (!groups.empty()) text += fmt::format("\n{}\n", title);
    for (const auto& [why, overloads] : groups) text += gap_text(why, overloads, names);
  };
  list("core, not judged:", core, true);
  list("functional, not judged:", functional, all);
  list("neither, which no rule can call:", apart, false);
  return text;
}

std::string coverage_text(const CoverageCount& opinfo, bool all) {
  std::string text = fmt::format("\nof the names of torch's OpInfo database, by any overload: {}\n",
                                 share_text(opinfo));
  for (const CoverageGap& gap : opinfo.gaps) text += gap_text(gap.why, gap.names, all);
  return text;
}

Json to_json(const Coverage& coverage) {
  Json json = {{"format", 1}, {"counts", Json::array()}, {"overloads", Json::array()}};
  for (const CoverageCount& count : coverage.counts()) json["counts"].push_back(to_json(count));
  for (const auto& [name, overload] : coverage.overloads()) {
    Json row = {{"name", name}, {"core", overload.core}, {"functional", overload.apart.empty()}};
    if (!overload.apart.empty()) row["apart"] = overload.apart;
    if (!overload.is_judged()) {
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
