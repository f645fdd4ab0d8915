#include "judge/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "judge/numerics/compare.h"
#include "judge/results.h"

namespace lockstep {
namespace {

/// How far rows of the fp64 gold may be apart that are the same: its kernels sum in an order of
/// their own.  Of the greatest number among them; float64 has 52 bits, and this leaves 20 of them.
constexpr double kGoldNoise = 1e-10;

const TensorView* tensor_of(const Repetition& calls, std::size_t call, const std::string& name) {
  return call < calls.size() ? find_tensor(calls[call].outputs, name) : nullptr;
}

/// Rows of a tensor; nothing where it has not these.
std::optional<TensorView> rows_of(const TensorView& tensor, std::int64_t along, std::int64_t from,
                                  std::int64_t count) {
  const auto dimension = static_cast<std::size_t>(along);
  if (dimension >= tensor.shape.size() || from + count > tensor.shape[dimension])
    return std::nullopt;
  TensorView rows = tensor;
  rows.shape[dimension] = count;
  rows.offset += from * tensor.strides[dimension];
  return rows;
}

/// The greatest magnitude of the finite numbers of a float64 tensor, or of the parts of a complex
/// one.
double greatest(const TensorView& tensor) {
  double most = 0;
  const TensorView* views[] = {&tensor};
  const TensorWalk walk(views);
  const std::int64_t parts = tensor.dtype->is_complex() ? 2 : 1;
  walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& blocks) {
    const auto* numbers = reinterpret_cast<const double*>(blocks[0]);
    for (std::int64_t i = 0; i < count * parts; ++i) {
      if (std::isfinite(numbers[i])) most = std::max(most, std::abs(numbers[i]));
    }
  });
  return most;
}

/// How many elements differ in bits.
std::int64_t differing(const TensorView& a, const TensorView& b) {
  Subject subject;
  subject.eager = &a;
  subject.compiled = &b;
  return Comparison(std::move(subject)).pair().differing;
}

/// Whether two tensors of a gold are the same but for its own rounding.
bool agree_as_golds(const TensorView& a, const TensorView& b) {
  if (a.dtype->bytes != (a.dtype->is_complex() ? 16 : 8) || a.dtype->is_integer())
    return differing(a, b) == 0;
  Subject subject;
  subject.eager = &a;
  subject.compiled = &b;
  Policy policy = *parse_policy("close");
  policy.rtol = 0;
  policy.atol = kGoldNoise * std::max(greatest(a), greatest(b));
  return Comparison(std::move(subject)).check(policy).holds();
}

/// Visits what a relation wants to be the same of an output: a tensor of its call, and one of
/// another.  Whether the results have the rows that it speaks of.
template <class Visit>
bool visit_pairs(const RelationOfCalls& relation, const Repetition& calls, const std::string& name,
                 std::int64_t along, Visit&& visit) {
  const TensorView* mine = tensor_of(calls, relation.call, name);
  const TensorView* other = tensor_of(calls, relation.of, name);
  if (mine == nullptr || other == nullptr) return false;
  if (relation.rows.empty()) {
    if (mine->shape != other->shape || mine->dtype != other->dtype) return false;
    visit(*mine, *other);
    return true;
  }
  for (const RowRange& rows : relation.rows) {
    other = tensor_of(calls, rows.of, name);
    if (other == nullptr || mine->dtype != other->dtype) return false;
    const auto here = rows_of(*mine, along, rows.at, rows.count);
    const auto there = rows_of(*other, along, rows.from, rows.count);
    if (!here || !there || here->shape != there->shape) return false;
    visit(*here, *there);
  }
  return true;
}

/// How many elements break a relation; nothing where the results have not the rows.
std::optional<std::int64_t> broken(const RelationOfCalls& relation, const Repetition& calls,
                                   const std::string& name, std::int64_t along) {
  std::int64_t count = 0;
  const bool fits = visit_pairs(relation, calls, name, along,
                                [&](const auto& a, const auto& b) { count += differing(a, b); });
  return fits ? std::optional(count) : std::nullopt;
}

enum class OfGold { keeps, breaks, unknown };

/// Whether the fp64 gold keeps all relations of a kind: one that it breaks is none of the program.
/// What stays the same from call to call every program keeps that draws no random numbers.
OfGold gold_keeps(const JudgeRequest& request, RelationKind kind, const std::string& name) {
  if (kind != RelationKind::batch && kind != RelationKind::rows) return OfGold::keeps;
  const Observation* gold = request.golds[Gold::fp64];
  if (gold == nullptr || gold->outcome != Outcome::returned || gold->repetitions.empty())
    return OfGold::unknown;
  for (const RelationOfCalls& relation : *request.relations) {
    if (relation.kind != kind) continue;
    bool same = true;
    const bool fits =
        visit_pairs(relation, gold->repetitions.front(), name, along_of(relation, name).value_or(0),
                    [&](const auto& a, const auto& b) { same = same && agree_as_golds(a, b); });
    if (!fits) return OfGold::unknown;
    if (!same) return OfGold::breaks;
  }
  return OfGold::keeps;
}

/// Notes one relation of an output: how many elements break it on both sides; nothing where a side
/// has not what it speaks of.
void add(const std::string& what, std::optional<std::int64_t> eager,
         std::optional<std::int64_t> path, RelationFinding& found) {
  if (!eager || !path) return;
  ++found.asked;
  found.eager += *eager > 0;
  found.path += *path > 0;
  if (*eager == 0 && *path == 0) return;
  if (!found.first.empty() && !(found.path == 1 && *path > 0)) return;
  const auto words = [](std::int64_t elements) {
    return elements == 0 ? "none" : grouped(static_cast<std::size_t>(elements));
  };
  found.first = fmt::format("{} changes elements: {} of the path, {} of eager", what, words(*path),
                            words(*eager));
}

using FindingsByOutput = std::map<std::pair<RelationKind, std::string>, RelationFinding>;

RelationFinding& finding_of(FindingsByOutput& found, RelationKind kind, const std::string& output) {
  RelationFinding& of = found[{kind, output}];
  of.kind = kind;
  of.output = output;
  return of;
}

/// Asks the calls of one execution.
void ask_calls(const JudgeRequest& request, const Repetition& eager, const Repetition& compiled,
               FindingsByOutput& found) {
  for (const auto& [name, value] : eager.front().outputs) {
    if (!std::holds_alternative<TensorView>(value)) continue;
    for (const RelationOfCalls& relation : *request.relations) {
      if (const auto along = along_of(relation, name))
        add(relation.what, broken(relation, eager, name, *along),
            broken(relation, compiled, name, *along), finding_of(found, relation.kind, name));
    }
  }
}

/// How many elements of an output are others in another execution, all calls together; nothing
/// where it did not return.
std::optional<std::int64_t> moved(const Observation& first, const Observation* other,
                                  const std::string& name) {
  if (other == nullptr || other->outcome != Outcome::returned || other->repetitions.empty())
    return std::nullopt;
  std::int64_t count = 0;
  const Repetition& calls = first.repetitions.front();
  for (std::size_t call = 0; call < calls.size(); ++call) {
    const TensorView* a = tensor_of(calls, call, name);
    const TensorView* b = tensor_of(other->repetitions.front(), call, name);
    if (a == nullptr || b == nullptr || a->shape != b->shape || a->dtype != b->dtype)
      return std::nullopt;
    count += differing(*a, *b);
  }
  return count;
}

/// Asks what another execution gave.
void ask_others(const JudgeRequest& request, const Observation& eager, const Observation& compiled,
                FindingsByOutput& found) {
  for (const OtherExecution& other : request.others) {
    for (const auto& [name, value] : eager.repetitions.front().front().outputs) {
      if (!std::holds_alternative<TensorView>(value)) continue;
      add(other.kind == RelationKind::threads ? "another number of threads" : "another process",
          moved(eager, other.eager, name), moved(compiled, other.compiled, name),
          finding_of(found, other.kind, name));
    }
  }
}

/// What is wrong with relations that a path breaks.
std::string reason_of(const RelationFinding& of) {
  const std::string eager = of.eager == 0
                                ? "which eager keeps"
                                : fmt::format("which the path keeps; eager breaks {}", of.eager);
  const std::string some =
      of.asked == 1 ? "" : fmt::format(" in {} of {} calls", of.path, of.asked);
  return fmt::format("breaks the relation `{}`{}, {}: {}", name_of(of.kind), some, eager, of.first);
}

}  // namespace

JudgedRelations judge_relations(const JudgeRequest& request, const Observation& eager,
                                const Observation& compiled) {
  JudgedRelations judged;
  if (request.relations == nullptr || eager.repetitions.front().empty()) return judged;
  FindingsByOutput found;
  ask_calls(request, eager.repetitions.front(), compiled.repetitions.front(), found);
  ask_others(request, eager, compiled, found);
  for (auto& [key, of] : found) {
    if (of.asked == 0) continue;
    if (of.eager > 0 || of.path > 0) {
      const OfGold gold = gold_keeps(request, of.kind, of.output);
      if (gold == OfGold::breaks) continue;
      of.undecided = gold == OfGold::unknown;
    }
    const bool kept = contains(request.keeps, std::string(name_of(of.kind)));
    if (!of.undecided && of.path > 0 && (of.eager == 0 || kept))
      judged.differences.push_back({Status::relation_breaks,
                                    with_call(of.output, 0, eager.repetitions.front().size()),
                                    reason_of(of)});
    judged.found.push_back(std::move(of));
  }
  return judged;
}

}  // namespace lockstep
