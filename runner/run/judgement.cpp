#include "run/judgement.h"

#include <algorithm>

#include "paths/policy_of_case.h"
#include "policies/policy.h"
#include "run/differing_tensors.h"

namespace lockstep {
namespace {

/// Golds are made only where they can decide something: an output is not `close` to eager, or its
/// policy reads one.  Those that tell why something differs, and the samples of noise, wait until
/// the gold alone has not made it conform; of a pointwise case, each input and each result is meant
/// to the last bit, and the fp64 gold is to be rounded correctly, which costs microseconds an
/// element.
GoldSet golds_for(const Findings& found, const JudgeRequest& request) {
  const auto is_there = [&](Gold gold) {
    return request.golds[gold] != nullptr && request.golds[gold]->outcome == Outcome::returned;
  };
  GoldSet needs{};
  for (const OutputComparison& output : found.outputs) {
    const bool differs = output.grade && *output.grade > Grade::close;
    // Its status may be that of its metadata.
    const bool fails = std::any_of(found.differences.begin(), found.differences.end(),
                                   [&](const Difference& difference) {
                                     // What is written to an input are values, too.
                                     return difference.name == output.name &&
                                            (difference.status == Status::value_diverges ||
                                             difference.status == Status::nonfinite_diverges ||
                                             difference.status == Status::mutation_diverges);
                                   });
    if (!differs && !fails) continue;
    const auto policy = parse_policy(output.policy);
    const GoldSet reads = policy ? gold_needs(*policy) : GoldSet();
    for (const GoldInfo& each : all_golds()) {
      const bool late = fails && !request.pointwise && is_there(each.of);
      const bool asked = each.asked == GoldAsked::always      ? true
                         : each.asked == GoldAsked::pointwise ? request.pointwise
                         : each.asked == GoldAsked::read      ? reads[each.gold]
                         : each.asked == GoldAsked::failing   ? late
                                                              : late && reads[each.of];
      needs[each.gold] = needs[each.gold] || asked;
    }
  }
  for (const RelationFinding& each : found.relations) {
    if (each.undecided) needs[Gold::fp64] = true;
  }
  return needs;
}

/// How many times further from the gold than eager's a result may be behind several calls that hand
/// over their results. Both sides' errors grow then, and by chance one of them is the greater; the
/// steps, each from eager's state, are held to the policy itself.
constexpr double kGrowth = 4;

/// `evidence` outlives the request.
JudgeRequest request_of(const Evidence& evidence) {
  const Case& declared = *evidence.declared;
  JudgeRequest request;
  request.compiled = evidence.compiled.get();
  request.eager = evidence.eager.get();
  for (const GoldInfo& each : all_golds())
    request.golds[each.gold] = evidence.golds[each.gold].get();
  for (const GoldInfo& each : all_golds()) {
    const Observation* made = request.golds[each.gold];
    if (each.better && made != nullptr && made->outcome == Outcome::returned)
      request.golds[each.of] = made;
  }
  request.inputs = &evidence.inputs->calls;
  request.carry = &declared.program.carry;
  if (!declared.program.carry.empty()) request.growth = kGrowth;
  if (evidence.related != nullptr) request.relations = &evidence.related->relations;
  for (const auto& [kind, compiled] : evidence.other_compiled)
    request.others.push_back({kind, evidence.other_eager.at(kind).get(), compiled.get()});
  request.keeps = evidence.keeps;
  request.policy_of = [&evidence](std::string_view output) {
    return policy_for(*evidence.declared, output, evidence.path);
  };
  request.contract = evidence.contract;
  request.strides = declared.strides;
  request.uncontracted_strides = evidence.of_path.strides;
  request.uncontracted_bits = evidence.of_path.bits;
  request.uncontracted_gradient_bits = evidence.of_path.gradient_bits;
  request.tolerances = evidence.of_path.tolerances;
  request.raises = declared.raises;
  request.eager_device = evidence.eager_device;
  request.refuses = evidence.refuses;
  request.pointwise = declared.pointwise;
  request.compiles = evidence.compiles;
  request.worker_of_lockstep = evidence.worker_of_lockstep;
  request.own_random = evidence.own_random;
  request.cross_device = evidence.cross_device;
  request.reseeded = declared.random ? static_cast<std::size_t>(evidence.repeat) : 0;
  return request;
}

}  // namespace

Judgement judge_item(const Evidence& evidence, const JudgeFunction& judge,
                     const std::filesystem::path& save_to) {
  const JudgeRequest request = request_of(evidence);
  Judgement judgement;
  Findings& found = judgement.found = judge(request);
  judgement.origin.phases = evidence.compiled->phases;
  judgement.origin.peak_memory_bytes = evidence.compiled->peak_memory_bytes;
  judgement.origin.stderr_tail = evidence.compiled->stderr_tail;
  const GoldSet needs = golds_for(found, request);
  bool is_final = true;
  for (const GoldInfo& each : all_golds()) {
    judgement.needs[each.gold] = needs[each.gold] && !evidence.golds[each.gold];
    is_final = is_final && !judgement.needs[each.gold];
  }
  // Only an execution alone shows which program of a graph ran outside the path's own code. Golds,
  // which are cheaper than a compilation, show of some values that they conform.
  if (evidence.shared && (found.unstable || found.foreign_fraction > 0 ||
                          (is_final && found.status != Status::conform))) {
    judgement.counts = false;
    return judgement;
  }
  if (is_final && !save_to.empty()) {
    auto saved = save_tensors(save_to, evidence.id, request, found);
    if (!saved) judgement.note = "cannot save tensors: " + saved.error().message;
  }
  return judgement;
}

}  // namespace lockstep
