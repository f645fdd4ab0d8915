#include "verdict/status.h"

#include <algorithm>

#include "base/enum_table.h"

namespace lockstep {
namespace {

using enum Status;

constexpr auto kPass = JunitElement::pass;
constexpr auto kFailure = JunitElement::failure;
constexpr auto kError = JunitElement::error;
constexpr auto kSkipped = JunitElement::skipped;

// Columns: status, name, label, fails, fails_strict, junit, rank, severity, stderr_tells, meaning.
constexpr std::array kStatuses = {
    StatusInfo{conform, "conform", "conform", false, false, kPass, Rank::nothing,
               Severity::conforms, false,
               "agrees with eager under the policy, or both raise the same class of error"},
    StatusInfo{value_diverges, "value_diverges", "value diverges", true, true, kFailure,
               Rank::value, Severity::divergence, false,
               "an output's values are outside the policy"},
    StatusInfo{nonfinite_diverges, "nonfinite_diverges", "non-finite diverges", true, true,
               kFailure, Rank::nonfinite, Severity::divergence, false,
               "NaN or infinity where the other side has none, or another one"},
    StatusInfo{metadata_diverges, "metadata_diverges", "metadata diverges", true, true, kFailure,
               Rank::metadata, Severity::divergence, false,
               "dtype, shape, strides, device, layout or requires_grad differ"},
    StatusInfo{aliasing_diverges, "aliasing_diverges", "aliasing diverges", true, true, kFailure,
               Rank::aliasing, Severity::divergence, false,
               "other outputs and inputs share memory than in eager"},
    StatusInfo{mutation_diverges, "mutation_diverges", "mutation diverges", true, true, kFailure,
               Rank::mutation, Severity::divergence, false,
               "an input has other contents or metadata after the call"},
    StatusInfo{state_diverges, "state_diverges", "state diverges", true, true, kFailure,
               Rank::state, Severity::divergence, false,
               "a call leaves random generators or modes in another state, or changes the results "
               "of an earlier one"},
    StatusInfo{relation_breaks, "relation_breaks", "relation breaks", true, true, kFailure,
               Rank::relation, Severity::divergence, false,
               "the path disagrees with itself where eager does not: rows alone, in other company "
               "or order, in another layout, process or number of threads"},
    StatusInfo{validation_lost, "validation_lost", "validation lost", true, true, kFailure,
               Rank::error, Severity::error, false, "eager raises, the compiled program accepts"},
    StatusInfo{spurious_error, "spurious_error", "spurious error", true, true, kFailure,
               Rank::error, Severity::error, false, "eager accepts, the compiled program raises"},
    StatusInfo{error_diverges, "error_diverges", "error diverges", true, true, kFailure,
               Rank::error, Severity::error, false,
               "both raise, but not the same class of error, or not what the case is about"},
    StatusInfo{internal_error, "internal_error", "internal error", true, true, kFailure,
               Rank::error, Severity::error, true, "the compiler itself failed"},
    StatusInfo{crash, "crash", "crash", true, true, kError, Rank::outcome, Severity::crash, true,
               "the process died"},
    StatusInfo{timeout, "timeout", "time-out", true, true, kError, Rank::outcome, Severity::crash,
               true, "not done in the time allowed"},
    StatusInfo{oom, "oom", "out of memory", true, true, kError, Rank::outcome, Severity::crash,
               true, "ended by a memory limit or the kernel"},
    StatusInfo{worker_lost, "worker_lost", "worker lost", true, true, kError, Rank::outcome,
               Severity::crash, true, "the worker died or broke the protocol"},
    StatusInfo{not_compiled, "not_compiled", "not compiled", true, true, kError, Rank::proof,
               Severity::fell_back, false, "there is no proof that the compiler saw the program"},
    StatusInfo{fell_back, "fell_back", "fell back", true, true, kError, Rank::proof,
               Severity::fell_back, false,
               "it agrees with eager, but the path's own code executed none of it"},
    StatusInfo{harness, "harness", "harness", true, true, kError, Rank::reference, Severity::error,
               true, "the two eager executions disagree: this says nothing about the compiler"},
    StatusInfo{refused, "refused", "refused", false, true, kSkipped, Rank::error, Severity::refused,
               false, "the compiler says that it does not support this"},
    StatusInfo{extension, "extension", "extension", false, false, kSkipped, Rank::error,
               Severity::nothing, false, "eager has no implementation, the compiled program does"},
    StatusInfo{
        unsupported, "unsupported", "unsupported", false, false, kSkipped, Rank::support,
        Severity::nothing, false,
        "this device, dtype, operator, layout or torch lacks what the case needs, eager too, or "
        "the path declares that it does"},
    StatusInfo{inconclusive, "inconclusive", "inconclusive", false, true, kSkipped, Rank::noise,
               Severity::nothing, false, "eager disagrees with itself"},
};

static_assert(has_every_row(kStatuses, &StatusInfo::status));
static_assert(std::all_of(kStatuses.begin(), kStatuses.end(), [](const StatusInfo& row) {
  return !row.name.empty() && !row.label.empty() && !row.meaning.empty();
}));
// Else something that is wrong could lose against what conforms.
static_assert(std::all_of(kStatuses.begin(), kStatuses.end(), [](const StatusInfo& row) {
  return (row.rank == Rank::nothing) == (row.status == conform) &&
         (row.severity == Severity::conforms) == (row.status == conform);
}));
// Else a run from which something is skipped would be taken for one that found something.
static_assert(std::all_of(kStatuses.begin(), kStatuses.end(), [](const StatusInfo& row) {
  return (row.junit == kSkipped) ==
         (row.severity == Severity::nothing || row.severity == Severity::refused);
}));

struct ElementRow {
  JunitElement element;
  std::string_view name;
};
constexpr std::array kElements = {ElementRow{kPass, "pass"}, ElementRow{kFailure, "failure"},
                                  ElementRow{kError, "error"}, ElementRow{kSkipped, "skipped"}};
static_assert(has_every_row(kElements, &ElementRow::element));

struct RankRow {
  Rank rank;
  std::string_view name;
};
constexpr std::array kRanks = {
    RankRow{Rank::support, "support"},     RankRow{Rank::outcome, "ending"},
    RankRow{Rank::reference, "reference"}, RankRow{Rank::error, "error"},
    RankRow{Rank::metadata, "metadata"},   RankRow{Rank::aliasing, "aliasing"},
    RankRow{Rank::nonfinite, "nonfinite"}, RankRow{Rank::value, "value"},
    RankRow{Rank::mutation, "mutation"},   RankRow{Rank::state, "state"},
    RankRow{Rank::relation, "relation"},   RankRow{Rank::proof, "proof"},
    RankRow{Rank::noise, "noise"},         RankRow{Rank::nothing, "nothing"}};
static_assert(has_every_row(kRanks, &RankRow::rank));

struct SeverityRow {
  Severity severity;
  std::string_view name;
};
constexpr std::array kSeverities = {SeverityRow{Severity::conforms, "conforms"},
                                    SeverityRow{Severity::nothing, "nothing"},
                                    SeverityRow{Severity::refused, "refused"},
                                    SeverityRow{Severity::fell_back, "fell_back"},
                                    SeverityRow{Severity::divergence, "divergence"},
                                    SeverityRow{Severity::error, "error"},
                                    SeverityRow{Severity::crash, "crash"}};
static_assert(has_every_row(kSeverities, &SeverityRow::severity));

}  // namespace

std::string_view name_of(JunitElement element) {
  return kElements[static_cast<std::size_t>(element)].name;
}

std::string_view name_of(Rank rank) { return kRanks[static_cast<std::size_t>(rank)].name; }

std::vector<std::string> rank_names() {
  std::vector<std::string> names;
  for (const RankRow& row : kRanks) names.emplace_back(row.name);
  return names;
}

std::string_view name_of(Severity severity) {
  return kSeverities[static_cast<std::size_t>(severity)].name;
}

std::span<const StatusInfo> all_statuses() { return kStatuses; }

const StatusInfo& info(Status status) { return kStatuses[static_cast<std::size_t>(status)]; }

const StatusInfo* find_status(std::string_view name) { return find_named(kStatuses, name); }

}  // namespace lockstep
