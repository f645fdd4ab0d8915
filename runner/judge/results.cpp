#include "judge/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "judge/metadata.h"
#include "judge/numerics/accuracy.h"
#include "judge/numerics/compare.h"
#include "judge/numerics/heat_map.h"
#include "judge/numerics/weak.h"

namespace lockstep {
namespace {

enum class Group { output, input, gradient };

const NamedValues& group_of(const CallResult& call, Group group) {
  switch (group) {
    case Group::output:
      return call.outputs;
    case Group::input:
      return call.inputs;
    case Group::gradient:
      break;
  }
  return call.grads;
}

/// "y", "input x", "grad x".
std::string title(Group group, std::string_view name) {
  constexpr std::string_view prefixes[] = {"", kInputPrefix, kGradientPrefix};
  return fmt::format("{}{}", prefixes[static_cast<int>(group)], name);
}

/// "outputs/y": the key of what a gold remarks on (wire/observation.h).
std::string remark_key(Group group, std::string_view name) {
  constexpr std::string_view groups[] = {"outputs", "inputs", "grads"};
  return fmt::format("{}/{}", groups[static_cast<int>(group)], name);
}

/// Numbers that are no tensors, as zero-dimensional ones, so that one set of rules serves both.
class AsTensors {
 public:
  /// The tensor, or the number as a tensor; nullptr for anything else (None, a string).
  const TensorView* operator()(const DataValue* value) {
    if (value == nullptr) return nullptr;
    if (const auto* view = std::get_if<TensorView>(value)) return view;
    const auto& scalar = std::get<ScalarValue>(*value);
    if (const auto* v = std::get_if<bool>(&scalar)) return add("bool", *v);
    if (const auto* v = std::get_if<std::int64_t>(&scalar)) return add("int64", *v);
    if (const auto* v = std::get_if<double>(&scalar)) return add("float64", *v);
    if (const auto* v = std::get_if<std::complex<double>>(&scalar)) return add("complex128", *v);
    return nullptr;
  }

  /// The same bytes as elements of another dtype of the same size; nullptr stays nullptr.
  const TensorView* operator()(const DataValue* value, const Dtype& dtype) {
    const TensorView* view = (*this)(value);
    if (view == nullptr || view->dtype->bytes != dtype.bytes) return view;
    views_.push_back(*view);
    views_.back().dtype = &dtype;
    return &views_.back();
  }

 private:
  struct Number {
    alignas(16) std::array<std::byte, 16> bytes{};
    TensorView view;
  };
  template <class T>
  const TensorView* add(std::string_view dtype, const T& value) {
    Number& number = numbers_.emplace_back();
    std::memcpy(number.bytes.data(), &value, sizeof value);
    number.view.dtype = find_dtype(dtype);
    number.view.bytes = std::span(number.bytes).first(sizeof value);
    return &number.view;
  }

  std::deque<Number> numbers_;  // never moves them
  std::deque<TensorView> views_;
};

const Dtype& dtype_of(const DataValue& value) {
  AsTensors as_tensor;
  const TensorView* view = as_tensor(&value);
  return view == nullptr ? *find_dtype("bool") : *view->dtype;
}

/// The policy that a case names for a value, or for the list of which it is an element.
std::optional<Policy> named_policy(const JudgeRequest& request, std::string_view name) {
  if (!request.policy_of) return std::nullopt;
  return request.policy_of(name.substr(0, name.find('[')));
}

/// The policy, or a distance from the gold that grows from call to call (JudgeRequest::growth).
Policy growing(Policy policy, const JudgeRequest& request, const Dtype& dtype) {
  if (request.growth == 0 || !judges_positions(policy) ||
      !(dtype.is_floating() || dtype.is_complex()))
    return policy;
  Policy no_worse;
  no_worse.kind = Policy::Kind::no_worse;
  no_worse.parameter = request.growth;
  Policy either;
  either.kind = Policy::Kind::any_of;
  either.children = {std::move(policy), std::move(no_worse)};
  return either;
}

Policy policy_for(const JudgeRequest& request, const std::string& name, const DataValue& value) {
  if (auto policy = named_policy(request, name))
    return growing(std::move(*policy), request, dtype_of(value));
  // Which casts a backward has, the program does not say, and no gold rounds its steps.
  const bool weaker = is_gradient(name) && (request.contract == Contract::casts ||
                                            !request.uncontracted_gradient_bits.empty());
  const Dtype& dtype = dtype_of(value);
  return growing(tolerant(default_policy(weaker ? Contract::values : request.contract, dtype),
                          dtype, request.tolerances),
                 request, dtype);
}

bool is_list(const DataValue& value) {
  const auto* scalar = std::get_if<ScalarValue>(&value);
  return scalar != nullptr && std::holds_alternative<ListOf>(*scalar);
}

/// Everything about one call that comparing one of its values takes.
class CallComparison {
 public:
  /// `before`: the calls before this one, where inputs may come from.
  CallComparison(const CallResult& eager, const CallResult& compiled, const JudgeRequest& request,
                 std::size_t call, std::size_t repetition, ResultComparison& out,
                 const CallResult* eager_before = nullptr,
                 const CallResult* compiled_before = nullptr)
      : eager_(eager),
        compiled_(compiled),
        eager_before_(eager_before),
        compiled_before_(compiled_before),
        request_(request),
        call_(call),
        repetition_(repetition),
        out_(out) {}

  void run() {
    for (const Group group : {Group::output, Group::input, Group::gradient}) {
      if (group == Group::gradient && compiled_.grads.empty() &&
          request_.compiled->outcome == Outcome::raised) {
        continue;
      }
      for (const auto& [name, value] : group_of(eager_, group)) compare(group, name, value);
    }
    if (std::string aliases = alias_difference(eager_, compiled_); !aliases.empty()) {
      OutputComparison output;
      output.name = "aliases";
      note(output, Status::aliasing_diverges, std::move(aliases));
      out_.outputs.push_back(std::move(output));
    }
  }

 private:
  void compare(Group group, const std::string& name, const DataValue& eager) {
    const DataValue* compiled = find_value(group_of(compiled_, group), name);
    OutputComparison output;
    output.name = title(group, name);
    output.type = lockstep::describe(eager);
    const bool asked = named_policy(request_, output.name).has_value();
    Policy policy = policy_for(request_, output.name, eager);
    const Dtype* dtype = &dtype_of(eager);
    if (const Dtype* floats = bits_of(group, name, *dtype);
        policy.kind == Policy::Kind::decided && !asked && floats != nullptr) {
      policy = tolerant(default_policy(request_.contract, *floats), *floats, request_.tolerances);
      dtype = floats;
    }
    const bool untouched = group == Group::input && is_unchanged(given(name, true), eager);
    // What differed when it was handed over, the call before has been told.
    if (untouched && carried_from(name) != nullptr && compiled != nullptr &&
        is_unchanged(given(name, false), *compiled))
      return;
    if (untouched && carried_from(name) == nullptr) policy = Policy{};
    // Where an input is left in another state is all that there is to say of it.
    const auto of_group = [&](Status status) {
      return group == Group::input ? Status::mutation_diverges : status;
    };
    const std::string metadata =
        compiled == nullptr
            ? fmt::format("{}, compiled nothing", output.type)
            : metadata_difference(eager, *compiled, stride_rule(request_), request_.cross_device);
    if (!metadata.empty()) note(output, of_group(Status::metadata_diverges), metadata);
    const bool comparable = compiled != nullptr && are_comparable(eager, *compiled);
    out_.comparable = out_.comparable && comparable;
    if (is_list(eager) && comparable) {
      if (std::get<ListOf>(std::get<ScalarValue>(eager)).size > 0) return;  // these follow
      output.grade = Grade::bits;
      output.vacuous = true;
    } else if (comparable && policy.kind != Policy::Kind::metadata) {
      // What is no number is the same or not.
      if (AsTensors()(&eager) == nullptr) policy = *parse_policy("exact");
      output.policy = to_string(policy);
      const CheckResult values =
          compare_values(group, name, eager, *compiled, *dtype, policy, output);
      if (!values.holds()) {
        std::string reason = fmt::format("{} (policy {})", values.reason, output.policy);
        if (request_.pointwise && output.differing > 0) {
          reason += ": " + lockstep::describe(output.classes);
        }
        note(output, of_group(values.status), std::move(reason), values.reason);
      }
    }
    const bool differs = output.status != Status::conform || output.differing > 0;
    // As it should be: no news, unless it is all that there is to compare.
    if (group == Group::input && !asked && !differs && !eager_.outputs.empty()) return;
    output.policy = to_string(policy);
    output.vacuous = output.vacuous || (untouched && !differs && eager_.outputs.empty());
    out_.outputs.push_back(std::move(output));
  }

  /// Something wrong with an output: the verdict's words, and those of the output itself.
  void note(OutputComparison& output, Status status, std::string reason, std::string own = "") {
    if (output.status == Status::conform) {
      output.status = status;
      output.reason = own.empty() ? reason : std::move(own);
    }
    out_.differences.push_back({status, output.name, std::move(reason)});
  }

  CheckResult compare_values(Group group, const std::string& name, const DataValue& eager,
                             const DataValue& compiled, const Dtype& dtype, const Policy& policy,
                             OutputComparison& output) {
    AsTensors as_tensor;
    Subject subject;
    subject.eager = as_tensor(&eager, dtype);
    subject.compiled = as_tensor(&compiled, dtype);
    if (subject.eager == nullptr) {  // None or a string; of the same kind
      output.elements = 1;
      output.grade = Grade::bits;
      if (same_bits(eager, compiled)) return {};
      output.grade = Grade::none;
      output.differing = 1;
      output.classes.value = 1;
      CheckResult result = leaf(Quantity::unequal, 1, 0, [&] {
        return fmt::format("{}, compiled {}", lockstep::describe(eager),
                           lockstep::describe(compiled));
      });
      result.leaves.front().policy = to_string(policy);
      output.checks = result.leaves;
      return result;
    }
    const auto gold = [&](const Observation* observation) {
      const DataValue* value = gold_value(observation, group, name);
      const bool bits = subject.eager->dtype != &dtype_of(eager);
      const TensorView* view = bits ? as_tensor(value, dtype) : as_tensor(value);
      return view != nullptr && view->shape == subject.eager->shape &&
                     view->dtype->is_complex() == subject.eager->dtype->is_complex()
                 ? view
                 : nullptr;
    };
    const auto noise = [&](const Observation* observation) {
      std::vector<const TensorView*> samples;
      for (const CallResult* call : samples_of(observation)) {
        const TensorView* view = as_tensor(find_value(group_of(*call, group), name), dtype);
        if (view != nullptr && view->shape == subject.eager->shape &&
            view->dtype == subject.eager->dtype)
          samples.push_back(view);
      }
      return samples;
    };
    for (const GoldInfo& each : all_golds()) {
      const Observation* made = request_.golds[each.gold];
      if (each.samples) {
        subject.samples[each.gold] = noise(made);
      } else {
        subject.golds[each.gold] = gold(made);
        subject.lost[each.gold] = loss_of(made, group, name);
      }
    }
    if (subject.golds[Gold::fp64] != nullptr) subject.origin = origin_of(group, name);
    subject.eager_tensor = tensors_of(eager_);
    subject.compiled_tensor = tensors_of(compiled_);
    Comparison comparison(std::move(subject));
    comparison.add_numbers(output);
    CheckResult result = comparison.check(policy);
    output.grading = comparison.grading();
    output.grade = grade_of(output.differing, output.grading);
    // Equal bits conform under any policy.
    if (output.differing > 0 || !result.holds()) output.checks = result.leaves;
    if (output.status == Status::conform) output.weak = weakness(comparison, result);
    if (!result.holds() && judges_positions(policy)) {
      output.heat = heat_map(*comparison.subject().eager, *comparison.subject().compiled);
    }
    if (comparison.subject().golds[Gold::fp64] != nullptr &&
        (output.differing > 0 || request_.pointwise))
      output.gold = source_of(comparison.subject().origin);
    if (request_.pointwise) look_closer(comparison.subject(), output);
    note_nearer(result.status, nearer_of(comparison, output));
    return result;
  }

  /// Which side is nearer, by the ulps of the elements that differ. It is not known if the ulps are
  /// not, or if both sides are merely wrong about NaN or infinity.
  static NearerSide nearer_of(Comparison& comparison, const OutputComparison& output) {
    const Accuracy* row = differing_row(output.accuracy);
    if (row == nullptr || (std::isinf(row->eager) && std::isinf(row->compiled)))
      return nearer_side(comparison);
    return nearer_side(*row, *comparison.subject().eager->dtype, comparison.subject().origin);
  }

  /// What can be told of an output whose elements depend on those of the inputs one by one.
  void look_closer(const Subject& subject, OutputComparison& output) const {
    const TensorView& eager = *subject.eager;
    PointwiseInputs inputs;
    if (request_.inputs != nullptr && call_ < request_.inputs->size()) {
      for (const auto& [name, value] : (*request_.inputs)[call_]) {
        const DataValue* passed = given(name, true);
        const auto* view = passed == nullptr ? nullptr : std::get_if<TensorView>(passed);
        if (view != nullptr && view->shape == eager.shape) inputs.push_back({name, view});
      }
    }
    if (output.differing > 0) output.first = first_differences(eager, *subject.compiled, inputs);
    if (subject.golds[Gold::fp64] != nullptr && has_accuracy(*eager.dtype, subject.origin)) {
      output.accuracy = accuracy(eager, *subject.compiled, *subject.golds[Gold::fp64], inputs);
      output.error_curve =
          error_curve(eager, *subject.compiled, *subject.golds[Gold::fp64], inputs);
    }
  }

  /// The sentence about the worst output so far is the verdict's.
  void note_nearer(Status status, NearerSide nearer) {
    const bool excuse = out_.nearer == Nearer::ill_conditioned;
    const Rank rank = info(status).rank;
    if (out_.nearer && (excuse ? rank > nearer_rank_ : rank >= nearer_rank_)) return;
    if (!nearer.side || (excuse && nearer.side == out_.nearer)) return;
    nearer_rank_ = rank;
    out_.nearer = nearer.side;
    out_.sentence = std::move(nearer.sentence);
    out_.nearer_of = out_.outputs.size();  // where `compare` will put it
  }

  /// The floating dtype, of the same size, whose bits an integer value holds; nullptr: none.
  const Dtype* bits_of(Group group, const std::string& name, const Dtype& integers) const {
    const auto found = eager_.bits_of.find(remark_key(group, name));
    const bool known = found != eager_.bits_of.end();
    return known && found->second->bytes == integers.bytes ? found->second : nullptr;
  }

  /// This call of a gold; nullptr where there is none.
  const CallResult* call_of(const Observation* gold) const {
    if (gold == nullptr || gold->outcome != Outcome::returned || gold->repetitions.empty())
      return nullptr;
    const bool reseeded = request_.reseeded > 0 && repetition_ == request_.reseeded;
    const Repetition& calls = reseeded ? gold->repetitions.back() : gold->repetitions.front();
    return call_ < calls.size() ? &calls[call_] : nullptr;
  }

  /// This call in each sample of noise; of executions with other seeds, those of the second half.
  std::vector<const CallResult*> samples_of(const Observation* noise) const {
    std::vector<const CallResult*> samples;
    if (noise == nullptr || noise->outcome != Outcome::returned) return samples;
    const std::size_t half = noise->repetitions.size() / (request_.reseeded > 0 ? 2 : 1);
    const bool reseeded = request_.reseeded > 0 && repetition_ == request_.reseeded;
    for (std::size_t i = reseeded ? half : 0; i < (reseeded ? 2 * half : half); ++i) {
      const Repetition& calls = noise->repetitions[i];
      if (call_ < calls.size()) samples.push_back(&calls[call_]);
    }
    return samples;
  }

  const DataValue* gold_value(const Observation* gold, Group group, const std::string& name) const {
    const CallResult* call = call_of(gold);
    return call == nullptr ? nullptr : find_value(group_of(*call, group), name);
  }

  const ValueOrigin* origin_of(Group group, const std::string& name) const {
    const CallResult* call = call_of(request_.golds[Gold::fp64]);
    const auto from = call->from.find(remark_key(group, name));
    return from == call->from.end() ? nullptr : &from->second;
  }

  std::string_view loss_of(const Observation* gold, Group group, const std::string& name) const {
    if (gold == nullptr) return "";
    if (gold->outcome != Outcome::returned) return gold->reason;
    const CallResult* call = call_of(gold);
    if (call == nullptr) return "";
    const auto lost = call->lost.find(remark_key(group, name));
    return lost == call->lost.end() ? std::string_view() : lost->second;
  }

  static std::function<const TensorView*(std::string_view)> tensors_of(const CallResult& call) {
    return [&call](std::string_view name) -> const TensorView* {
      for (const Group group : {Group::output, Group::input, Group::gradient}) {
        for (const auto& [key, value] : group_of(call, group)) {
          if (key == name || title(group, key) == name) return std::get_if<TensorView>(&value);
        }
      }
      return nullptr;
    };
  }

  /// The value of the call before that an input of this one is; nullptr: the case has it.
  const std::string* carried_from(const std::string& name) const {
    if (request_.carry == nullptr || call_ == 0) return nullptr;
    for (const auto& [input, from] : *request_.carry) {
      if (input == name) return &from;
    }
    return nullptr;
  }

  /// What a side was given for an input; nullptr where that is not known.
  const DataValue* given(const std::string& name, bool to_eager) const {
    const std::string* from = carried_from(name);
    if (from == nullptr) {
      return request_.inputs == nullptr || call_ >= request_.inputs->size()
                 ? nullptr
                 : find_value((*request_.inputs)[call_], name);
    }
    const CallResult* before = to_eager ? eager_before_ : compiled_before_;
    if (before == nullptr) return nullptr;
    const DataValue* output = find_value(before->outputs, *from);
    return output != nullptr ? output : find_value(before->inputs, *from);
  }

  /// Whether an input was left unchanged.  Its bytes are on this machine, so the device of the
  /// returned tensor does not matter.
  static bool is_unchanged(const DataValue* before, const DataValue& after) {
    if (before == nullptr || before->index() != after.index()) return false;
    const auto* view = std::get_if<TensorView>(before);
    if (view != nullptr) {
      const auto& now = std::get<TensorView>(after);
      if (view->dtype != now.dtype || view->shape != now.shape) return false;
    }
    return same_bits(*before, after);
  }

  const CallResult& eager_;
  const CallResult& compiled_;
  const CallResult* eager_before_;
  const CallResult* compiled_before_;
  const JudgeRequest& request_;
  std::size_t call_;
  std::size_t repetition_;
  ResultComparison& out_;
  Rank nearer_rank_ = Rank::nothing;
};

}  // namespace

void sort_by_rank(std::vector<Difference>& differences) {
  std::stable_sort(differences.begin(), differences.end(), [](const auto& a, const auto& b) {
    return info(a.status).rank < info(b.status).rank;
  });
}

std::string with_call(std::string full_name, std::size_t call, std::size_t calls) {
  return calls == 1 ? full_name : fmt::format("{}, call {}", full_name, call + 1);
}

bool same_bits(const DataValue& a, const DataValue& b) {
  if (a.index() != b.index()) return false;
  AsTensors as_tensor;
  const TensorView* x = as_tensor(&a);
  const TensorView* y = as_tensor(&b);
  if (x == nullptr || y == nullptr) return std::get<ScalarValue>(a) == std::get<ScalarValue>(b);
  Subject subject;
  subject.eager = x;
  subject.compiled = y;
  return Comparison(std::move(subject)).pair().differing == 0;
}

bool accepts_any_numbers(const JudgeRequest& request, const std::string& name,
                         const DataValue& value) {
  return !judges_positions(policy_for(request, name, value));
}

ResultComparison compare_results(const Repetition& eager, const Repetition& compiled,
                                 const JudgeRequest& request, std::size_t repetition) {
  ResultComparison out;
  for (std::size_t call = 0; call < std::min(eager.size(), compiled.size()); ++call) {
    const std::size_t first = out.outputs.size();
    const std::size_t found = out.differences.size();
    CallComparison(eager[call], compiled[call], request, call, repetition, out,
                   call > 0 ? &eager[call - 1] : nullptr, call > 0 ? &compiled[call - 1] : nullptr)
        .run();
    for (std::size_t i = first; i < out.outputs.size(); ++i) {
      out.outputs[i].name = with_call(out.outputs[i].name, call, eager.size());
    }
    for (std::size_t i = found; i < out.differences.size(); ++i) {
      out.differences[i].name = with_call(out.differences[i].name, call, eager.size());
    }
  }
  sort_by_rank(out.differences);
  return out;
}

std::vector<Difference> compare_after_error(const AfterError& eager, const AfterError& compiled,
                                            const JudgeRequest& request) {
  ResultComparison out;
  const CallResult eager_left{{}, eager.inputs, {}};
  const CallResult compiled_left{{}, compiled.inputs, {}};
  CallComparison(eager_left, compiled_left, request, eager.call, 0, out).run();
  if (eager.calls && compiled.calls) {
    const std::size_t calls = std::min(eager.calls->size(), compiled.calls->size());
    for (std::size_t i = 0; i < calls; ++i) {
      CallComparison((*eager.calls)[i], (*compiled.calls)[i], request, eager.call + 1 + i, 0, out)
          .run();
    }
    if (eager.calls->size() != compiled.calls->size())
      out.differences.push_back(
          {Status::error_diverges, fmt::format("call {}", eager.call + 2 + calls),
           fmt::format("{} raises", calls == eager.calls->size() ? "eager" : "compiled")});
  }
  for (Difference& difference : out.differences) {
    difference.reason = fmt::format("{} after the error: {}", difference.name, difference.reason);
    difference.name.clear();
  }
  return std::move(out.differences);
}

std::vector<Difference> compare_seeds(const Repetition& eager_first, const Repetition& eager_other,
                                      const Repetition& first, const Repetition& other,
                                      const JudgeRequest& request) {
  constexpr std::int64_t kFewest = 16;
  std::vector<Difference> found;
  const std::size_t calls =
      std::min({eager_first.size(), eager_other.size(), first.size(), other.size()});
  for (std::size_t call = 0; call < calls; ++call) {
    for (const auto& [name, value] : eager_first[call].outputs) {
      const DataValue* moved = find_value(eager_other[call].outputs, name);
      const DataValue* mine = find_value(first[call].outputs, name);
      const DataValue* again = find_value(other[call].outputs, name);
      if (moved == nullptr || mine == nullptr || again == nullptr ||
          !accepts_any_numbers(request, name, value) || !are_comparable(value, *moved) ||
          !are_comparable(*mine, *again) || !same_bits(*mine, *again)) {
        continue;
      }
      AsTensors as_tensor;
      Subject subject;
      subject.eager = as_tensor(&value);
      subject.compiled = as_tensor(moved);
      if (subject.eager == nullptr || subject.compiled == nullptr) continue;
      const std::int64_t differing = Comparison(std::move(subject)).pair().differing;
      if (differing < kFewest) continue;
      found.push_back({Status::value_diverges, with_call(name, call, calls),
                       fmt::format("{} {} of eager's elements change, and none of compiled's",
                                   kOtherSeed, differing),
                       request.reseeded + 1});
    }
  }
  return found;
}

const DataValue* find_output(const Repetition& calls, std::string_view name) {
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const Group group : {Group::output, Group::input, Group::gradient}) {
      for (const auto& [key, value] : group_of(calls[call], group)) {
        if (with_call(title(group, key), call, calls.size()) == name) return &value;
      }
    }
  }
  return nullptr;
}

std::string first_disagreement(const Repetition& a, const Repetition& b,
                               const JudgeRequest& request) {
  if (a.size() != b.size()) return fmt::format("{} calls, then {}", a.size(), b.size());
  for (std::size_t call = 0; call < a.size(); ++call) {
    if (std::string aliases = alias_difference(a[call], b[call]); !aliases.empty())
      return fmt::format("aliases ({})", aliases);
    for (const Group group : {Group::output, Group::input, Group::gradient}) {
      for (const auto& [name, value] : group_of(a[call], group)) {
        std::string full_name = title(group, name);
        const DataValue* other = find_value(group_of(b[call], group), name);
        if (other == nullptr) return full_name;
        const std::string metadata = metadata_difference(value, *other, stride_rule(request));
        if (!metadata.empty()) return fmt::format("{} ({})", full_name, metadata);
        if (judges_positions(policy_for(request, full_name, value)) && !same_bits(value, *other)) {
          return full_name;
        }
      }
    }
  }
  return "";
}

}  // namespace lockstep
