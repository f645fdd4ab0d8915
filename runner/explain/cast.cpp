// The cast that one side lacks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "explain/operator_search.h"
#include "judge/results.h"
#include "program/edit.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// Replaces one dtype by another in every argument.
struct Widen : Visitor {
  std::string narrow;
  void value(Value& value) const {
    auto* word = std::get_if<Enumeration>(&value.is);
    if (word != nullptr && word->kind == Enumeration::Kind::dtype && word->word == narrow)
      word->word = "float32";
  }
};

FlatStep cast(const std::string& from, const std::string& to, const std::string& dtype,
              const std::vector<Context>& within) {
  return {{{to},
           OpCall{"aten::to.dtype",
                  {{{Ref{from}}, {Enumeration{Enumeration::Kind::dtype, dtype}}}, {}}}},
          within};
}

/// The dtype of a tensor that rounds to 16 bits or fewer; empty of any other.
std::string narrow_dtype(const GivenValues& values, const std::string& name) {
  const auto found = values.of.find(name);
  const auto* view = found == values.of.end() ? nullptr : std::get_if<TensorView>(&found->second);
  return view != nullptr && view->dtype->is_floating() && view->dtype->bytes <= 2
             ? std::string(view->dtype->name)
             : std::string();
}

}  // namespace

/// Whether the step gives what the compiled program gives where the results of `wide`, of the dtype
/// `narrow`, are not rounded to it, but stay float32.
bool OperatorSearch::explains(const Places& wide, std::size_t step, const std::string& narrow) {
  Places all = wide;
  all.push_back(step);
  std::set<std::string> taken = defined_names(suspect_.declared->program), widened, made;
  std::vector<FlatStep> steps;
  for (const std::size_t at : all) {
    FlatStep changed = flat_[at];
    Program one;
    one.steps = {changed.step};
    for (const std::string& name : uses_of(changed.step)) {
      const bool inner = made.contains(name);
      if (narrow_dtype(seen_.compiled, name) != narrow || inner || widened.contains(name)) continue;
      const std::string as = free_name(name + "_wide", taken);
      steps.push_back(cast(name, as, "float32", changed.within));
      substitute(one, name, {Ref{as}});
    }
    if (at != step) {
      Widen widen;
      widen.narrow = narrow;
      walk(one, widen);
    }
    changed.step = std::move(one.steps.front());
    for (const std::string& name : results_of(changed.step)) made.insert(name);
    steps.push_back(std::move(changed));
  }
  const std::vector<std::string> results = tensors_of(step);
  if (results.empty()) return false;
  std::string output = results.front();
  if (const std::string dtype = narrow_dtype(seen_.eager, output); !dtype.empty()) {
    const std::string rounded = free_name(output + "_rounded", taken);
    steps.push_back(cast(output, rounded, dtype, flat_[step].within));
    output = rounded;
  }
  auto derived =
      part_of(*suspect_.declared, steps, {output}, seen_.compiled, false, suspect_.fault.call);
  if (!derived) return false;
  const Tried tried = trials_.run_one({trial_name("eager without a rounding"),
                                       std::make_shared<const Case>(std::move(*derived)),
                                       {eager_path_of(steps, suspect_.path)}});
  const auto eager = eager_of(tried.executed);
  if (!eager) return false;
  const DataValue* wider = find_output(eager->repetitions.front(), output);
  const auto given = seen_.compiled.of.find(results.front());
  return wider != nullptr && given != seen_.compiled.of.end() && same_bits(*wider, given->second);
}

void OperatorSearch::name_cast(std::size_t step) {
  if (writes_ || draws_.contains(step) || !seen_.compiled.of.contains(out_.steps[step].name))
    return;
  Places wide;  // of one narrow dtype, a generation more each time
  std::string narrow;
  for (Places more = producers_of({step}); !more.empty() && !trials_.time_is_up();) {
    std::size_t before = wide.size();
    for (const std::size_t at : more) {
      if (draws_.contains(at)) continue;
      const std::string dtype = narrow_dtype(seen_.eager, out_.steps[at].name);
      if (dtype.empty() || (!narrow.empty() && dtype != narrow)) continue;
      narrow = dtype;
      wide.push_back(at);
    }
    if (wide.size() == before) return;
    std::sort(wide.begin(), wide.end());
    if (explains(wide, step, narrow)) {
      std::vector<std::string> names;
      for (const std::size_t at : wide) names.push_back(out_.steps[at].name);
      out_.cast = fmt::format("compiled keeps float32 where eager rounds to {} after {} {}", narrow,
                              names.size() == 1 ? "step" : "steps", enumerate(names));
      return;
    }
    more = producers_of(wide);
  }
}

}  // namespace lockstep
