#include "cases/case.h"

#include <algorithm>
#include <charconv>

#include "base/wide.h"
#include "verdict/differences.h"

namespace lockstep {
namespace {

/// "2.13.0a0+cpu" -> {2, 13, 0}: the leading number of each dotted part, up to the first part that
/// has none.
std::vector<int> release(std::string_view version) {
  std::vector<int> numbers;
  while (true) {
    int number = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc{}) return numbers;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.empty() || version.front() != '.') return numbers;
    version.remove_prefix(1);
  }
}

int compare_releases(std::vector<int> a, std::vector<int> b) {
  const std::size_t size = std::max(a.size(), b.size());
  a.resize(size);
  b.resize(size);
  return a < b ? -1 : a > b ? 1 : 0;
}

struct Clause {
  std::string_view relation;
  std::string_view version;
};

Clause split_clause(std::string_view clause) {
  while (!clause.empty() && clause.front() == ' ') clause.remove_prefix(1);
  while (!clause.empty() && clause.back() == ' ') clause.remove_suffix(1);
  const std::size_t digits = std::min(clause.find_first_of("0123456789"), clause.size());
  return {clause.substr(0, digits), clause.substr(digits)};
}

template <class Visit>
bool every_clause(std::string_view range, Visit visit) {
  while (true) {
    const std::size_t comma = range.find(',');
    if (!visit(split_clause(range.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) return true;
    range.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::optional<std::int64_t> reach_of(const TensorSpec& spec) {
  Wide last = static_cast<Wide>(spec.offset);
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    if (spec.shape[i] == 0) return spec.offset;
    last += static_cast<Wide>(spec.shape[i] - 1) * static_cast<Wide>(spec.strides[i]);
    if (last > static_cast<Wide>(kMostTensorBytes)) return std::nullopt;
  }
  return static_cast<std::int64_t>(last) + 1;
}

double RuleFill::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return 0;
}

bool version_matches(std::string_view version, std::string_view range) {
  if (range.empty()) return true;
  const std::vector<int> have = release(version);
  return every_clause(range, [&](const Clause& clause) {
    const int order = compare_releases(have, release(clause.version));
    if (clause.relation == ">=") return order >= 0;
    if (clause.relation == "<=") return order <= 0;
    if (clause.relation == ">") return order > 0;
    if (clause.relation == "<") return order < 0;
    if (clause.relation == "!=") return order != 0;
    return order == 0;
  });
}

std::string newer_lockstep(const Json& root, std::string_view have) {
  const auto path = Json::json_pointer("/requires/lockstep");
  if (!root.is_object() || !root.contains(path) || !root.at(path).is_string()) return "";
  std::string range = root.at(path).get<std::string>();
  return valid_range(range) && !version_matches(have, range) ? range : "";
}

bool valid_range(std::string_view range) {
  return every_clause(range, [](const Clause& clause) {
    const std::string_view r = clause.relation;
    const bool known = r == ">=" || r == "<=" || r == ">" || r == "<" || r == "!=" || r == "==";
    return known && !clause.version.empty() &&
           clause.version.find_first_not_of("0123456789.") == std::string_view::npos &&
           clause.version.back() != '.';
  });
}

}  // namespace lockstep
