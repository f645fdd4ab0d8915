#include "record/gate_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/text.h"
#include "record/fingerprints.h"

namespace lockstep {
namespace {

std::string name_of_row(const GatedChange& each) {
  if (each.told == nullptr) return each.change.id;
  std::vector<std::string> names;
  std::vector<Fingerprint> fingerprints;  // what is gone did not go for what it had found
  if (each.change.after) fingerprints = explained_fingerprints_of(*each.told);
  for (const Fingerprint& fingerprint : fingerprints) {
    if (!contains(names, fingerprint.name)) names.push_back(fingerprint.name);
  }
  if (!names.empty()) return fmt::format("{}", fmt::join(names, ", "));
  const std::string& instance = each.told->facts.instance;
  return instance.substr(0, instance.find_first_of("[@"));
}

/// Whether `one` is the better example: of verdicts the smaller.
bool is_better(const GatedChange& one, const GatedChange& other) {
  return one.told != nullptr && other.told != nullptr && is_smaller(*one.told, *other.told);
}

void add_to(GateRow& row, const GatedChange& each) {
  row.changes.push_back(&each);
  if (row.example == nullptr || is_better(each, *row.example)) row.example = &each;
  if (each.told == nullptr) return;
  const CaseFacts& facts = each.told->facts;
  const auto& explained = each.told->account.explained;
  if (row.explained.empty() && explained.is_object()) {
    const auto sentence = explained.find("sentence");
    if (sentence != explained.end() && sentence->is_string())
      row.explained = sentence->get<std::string>();
  }
  row.paths.insert(facts.path);
  row.dtypes.insert(facts.dtypes.begin(), facts.dtypes.end());
  std::set<std::string> operators;
  if (each.change.after) operators = accused_by(*each.told);
  if (operators.empty()) {
    for (const std::string& name : facts.operators)
      operators.insert(operators_of(std::span(&name, 1), ""));
    operators.erase("");  // of what asks for a size
  }
  row.operators.merge(operators);
  std::vector<std::string> links = facts.links;
  if (row.known != nullptr) links.push_back(row.known->link);
  for (const std::string& link : links) {
    if (link.starts_with("https://")) row.links.insert(link);
  }
}

}  // namespace

std::vector<GateRow> rows_of(const Gate& gate) {
  std::vector<GateRow> rows;
  using Key = std::tuple<Transition, std::string, bool, const Allowance*, bool>;
  std::map<Key, std::size_t> places;
  for (const GatedChange& each : gate.changes) {
    const Key key(each.change.transition, name_of_row(each), each.fails, each.allowed,
                  each.known() != nullptr);
    const auto [place, is_new] = places.emplace(key, rows.size());
    if (is_new) {
      GateRow& row = rows.emplace_back();
      row.transition = each.change.transition;
      row.name = std::get<1>(key);
      row.fails = each.fails;
      row.allowed = each.allowed;
      row.known = each.known();
    }
    add_to(rows[place->second], each);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const GateRow& a, const GateRow& b) {
    return std::tuple(a.transition, !a.fails, a.known != nullptr, b.changes.size(),
                      std::string_view(a.name)) < std::tuple(b.transition, !b.fails,
                                                             b.known != nullptr, a.changes.size(),
                                                             std::string_view(b.name));
  });
  return rows;
}

ClosingRows closing_rows(const std::vector<GateRow>& rows) {
  ClosingRows closing;
  for (const GateRow& row : rows) {
    if (!row.fails) continue;
    ++closing.rows;
    closing.verdicts += row.changes.size();
    closing.known += row.known != nullptr ? 1 : 0;
    closing.reported += row.links.empty() ? 0 : 1;
  }
  return closing;
}

}  // namespace lockstep
