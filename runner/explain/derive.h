#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "cases/case.h"
#include "cases/registry.h"
#include "wire/observation.h"

// Cases made of other cases: a part of a program on given values, the same program seen from
// inside.  They are run as any other and belong to no suite.
namespace lockstep {

/// A step as it lies in a program, with the contexts around it, outermost first.
struct FlatStep {
  Step step;  ///< no `with` block
  std::vector<Context> within;
};

/// The steps of a program without blocks, in the order of their execution.
std::vector<FlatStep> flatten(const std::vector<Step>& steps);
/// The inverse: neighbours under the same contexts share their blocks.
std::vector<Step> nest(std::span<const FlatStep> steps);

/// The names of a step's results, and those that it uses, each once.
std::vector<std::string> results_of(const Step& step);
std::vector<std::string> uses_of(const Step& step);

/// Whether a step may write to its arguments: by its schema, or by its name if there is no schema.
bool writes(const Step& step, const Registry* registry);

/// Values by their names; what belongs to a list stands beside it, `l[0]`, `l[1]`.
struct GivenValues {
  std::map<std::string, DataValue> of;
  std::vector<std::shared_ptr<const FileCopy>> storages;  ///< that the views point into

  /// Takes the results of one call of an observation, and with `inputs` also the inputs after it.
  void add(const Observation& observation, std::size_t call, bool inputs);
};

/// The tensor of that name, or nullptr.
const TensorView* tensor_in(const GivenValues& values, const std::string& name);

/// A tensor with the elements of a view, in a storage of its own that has what the view spans.  An
/// error where no case can say it: a layout other than strided.
Result<TensorSpec> spec_of(const TensorView& view);

/// A part of a case's program, some of its flat steps in their order, as a case of its own with one
/// call: what they use and do not make gets the values that are known.  It returns `outputs`, and
/// under `strict` asks them to have the same bits.  The context is that of the call `call`.  An
/// error where a value is not known.
Result<Case> part_of(const Case& whole, std::span<const FlatStep> steps,
                     const std::vector<std::string>& outputs, const GivenValues& values,
                     bool strict, std::size_t call);

/// The case with only some of its flat steps, in their order, where the values `given` are known:
/// they become inputs of its call.  An error where no case can say one.
Result<Case> replace_by_values(const Case& whole, std::span<const FlatStep> kept,
                               const std::vector<std::string>& given, const GivenValues& values);

/// The program, with more of its values as outputs.
struct Observed {
  Case declared;
  std::map<std::string, std::string> seen_as;  ///< by the name of a value that of its output
};

/// The case with the results `names` among its outputs; where steps write to what there is, a copy
/// of each as it was made.  Under `strict` they are asked to have the same bits.
Observed observe(const Case& whole, const std::vector<std::string>& names, bool strict,
                 const Registry* registry);

/// What follows from a case's program: its list of operators.
void note_operators(Case& declared);

/// The operators and functions that steps call, each once: "aten::add.Tensor".
std::vector<std::string> operators_of(std::span<const FlatStep> steps);

/// A name that is not taken, which begins with `wanted`; it is taken then.
std::string free_name(const std::string& wanted, std::set<std::string>& taken);

}  // namespace lockstep
