#include "reports/words.h"

#include "policies/policy.h"
#include "record/tally.h"
#include "record/transitions.h"
#include "reports/marks.h"
#include "verdict/differences.h"
#include "verdict/verdict.h"

namespace lockstep {
namespace {

/// An object for each row of a table.
template <class Rows, class Row>
Json table(const Rows& rows, Row row) {
  Json all = Json::array();
  for (const auto& each : rows) all.push_back(row(each));
  return all;
}

Json of_status(const StatusInfo& each) {
  return {{"name", each.name},
          {"label", each.label},
          {"fails", each.fails},
          {"fails_strict", each.fails_strict},
          {"junit", name_of(each.junit)},
          {"rank", name_of(each.rank)},
          {"severity", name_of(each.severity)},
          {"accuses", each.accuses()},
          {"judged", each.judged()},
          {"diverges", each.diverges()},
          {"expectable", each.expectable()},
          {"meaning", each.meaning}};
}

Json of_standing(const StandingInfo& each) {
  Json row = {{"name", each.name}};
  if (each.fails) row["fails"] = *each.fails;
  if (each.fails_strict) row["fails_strict"] = *each.fails_strict;
  row["meaning"] = each.meaning;
  return row;
}

Json of_grade(const std::string& name) {
  const Grade grade = *find_grade(name);
  return {{"name", name}, {"policy", policy_of(grade)}, {"meaning", meaning_of(grade)}};
}

Json of_column(const ColumnInfo& each) {
  return {{"name", each.name},
          {"glyph", each.glyph},
          {"always", each.always},
          {"meaning", each.meaning}};
}

Json of_mark(const MarkInfo& each) {
  return {{"name", each.name}, {"label", each.label}, {"meaning", each.meaning}};
}

Json of_transition(const TransitionInfo& each) {
  return {
      {"name", each.name}, {"label", each.label}, {"fails", each.fails}, {"meaning", each.meaning}};
}

Json of_gold(const GoldInfo& each) { return {{"name", each.name}, {"meaning", each.meaning}}; }

Json of_policy(const PolicyInfo& each) {
  Json golds = Json::array();  // that it reads
  for (const GoldInfo& gold : all_golds()) {
    if (each.golds[gold.gold]) golds.push_back(gold.name);
  }
  return {{"name", each.name},
          {"golds", std::move(golds)},
          {"written", each.written},
          {"formula", each.formula}};
}

}  // namespace

Json words_document() {
  return {{"statuses", table(all_statuses(), of_status)},
          {"ranks", rank_names()},
          {"standings", table(all_standings(), of_standing)},
          {"grades", table(grade_names(), of_grade)},
          {"kinds", table(all_columns(), of_column)},
          {"marks", table(all_marks(), of_mark)},
          {"transitions", table(all_transitions(), of_transition)},
          {"policies", table(all_policies(), of_policy)},
          {"golds", table(all_golds(), of_gold)},
          {"contracts", contract_names()},
          {"strides", stride_rule_names()},
          {"input_kinds", kInputKinds}};
}

}  // namespace lockstep
