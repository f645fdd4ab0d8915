// How much of a divergence each step adds, and whether it ends without the accused ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "explain/distance.h"
#include "explain/operator_search.h"
#include "program/edit.h"

namespace lockstep {
namespace {

/// What a step adds at least, as a fraction of the divergence, to be tried beside those that add
/// most.
constexpr double kLittle = 0.01;

/// As a fraction of the whole; of what is infinite, all or nothing.
double fraction(double part, double whole) {
  if (std::isinf(whole)) return std::isinf(part) ? 1 : 0;
  return whole > 0 ? std::min(part / whole, 1e6) : 0;
}

}  // namespace

/// Has a part of the program draw as the whole one does in the call in question.
void OperatorSearch::seed_as_there(Case& part) const {
  part.seed += suspect_.fault.call;
  part.random = false;  // no other seed is of interest
  part.share = false;
}

/// The steps after `last` that the output needs.  What draws is executed, needed or not, so that
/// the generator is where it was; of the steps before, too, under other names.
std::vector<FlatStep> OperatorSearch::rest_after(std::size_t last) const {
  std::vector<FlatStep> rest;
  std::vector<std::string> wanted = {suspect_.fault.value()};
  for (std::size_t i = flat_.size(); i-- > last + 1;) {
    const std::vector<std::string> results = results_of(flat_[i].step);
    const bool needed = std::any_of(results.begin(), results.end(),
                                    [&](const auto& name) { return contains(wanted, name); });
    if (!needed && !draws_.contains(i)) continue;
    for (std::string& name : uses_of(flat_[i].step)) wanted.push_back(std::move(name));
    rest.insert(rest.begin(), flat_[i]);
  }
  if (rest.empty()) return rest;
  std::set<std::string> taken = defined_names(suspect_.declared->program);
  for (std::size_t i = last + 1; i-- > 0;) {
    if (!draws_.contains(i)) continue;
    FlatStep drawn = flat_[i];
    for (auto& name : drawn.step.let) {
      if (name) name = free_name(*name + "_drawn", taken);
    }
    rest.insert(rest.begin(), std::move(drawn));
  }
  return rest;
}

/// The output where eager goes on after each of the steps from the values given for it.  Nothing:
/// one that it takes is not known, eager raises, or there was no time.
std::vector<std::optional<GivenValues>> OperatorSearch::continued_from(
    const std::map<std::size_t, GivenValues>& given) {
  std::vector<std::optional<GivenValues>> found(given.size());
  std::vector<Trial> trials;
  Places of;
  std::size_t place = 0;
  for (const auto& [last, values] : given) {
    const std::size_t here = place++;
    const std::vector<FlatStep> rest = rest_after(last);
    if (rest.empty()) {
      found[here] = values;
      continue;
    }
    auto derived = part_of(*suspect_.declared, rest, {suspect_.fault.value()}, values, false,
                           suspect_.fault.call);
    if (!derived) continue;
    seed_as_there(*derived);
    trials.push_back({trial_name("eager from " + out_.steps[last].name + " on"),
                      std::make_shared<const Case>(std::move(*derived)),
                      {eager_path_of(rest, suspect_.path)}});
    of.push_back(here);
  }
  const std::vector<std::vector<Tried>> tried = trials_.run(trials);
  for (std::size_t k = 0; k < of.size(); ++k) {
    const auto eager = eager_of(tried[k].front().executed);
    if (eager) found[of[k]].emplace().add(*eager, 0, false);
  }
  return found;
}

/// Fills `adds` and `curve`, from the steps that eager computes otherwise from what they were
/// given: the others pass on what they get, whatever they make of it.  The program that lies
/// between eager's and compiled's is executed for each: the differences of neighbours add up to the
/// divergence, so that nothing is left over that nobody did.
bool OperatorSearch::trace(const Places& unlike) {
  const std::string output = suspect_.fault.value();
  const TensorView* eager = tensor_in(seen_.eager, output);
  const TensorView* compiled = tensor_in(seen_.compiled, output);
  if (eager == nullptr || compiled == nullptr) return false;
  const double whole = distance(*eager, *compiled).greatest;
  if (whole == 0) return false;
  std::vector<double> curve(flat_.size(), 0), adds(flat_.size(), 0);
  std::map<std::size_t, GivenValues> given;
  for (const std::size_t at : unlike) given.emplace(at, seen_.compiled);
  const auto continued = continued_from(given);
  if (trials_.time_is_up()) {
    leave_open("how much each step adds: no time");
    return false;
  }
  const TensorView* was = eager;
  double reached = 0;
  std::size_t from = 0, next = 0;
  for (const auto& [at, values] : given) {
    const auto& after = continued[next++];
    const TensorView* is = after ? tensor_in(*after, output) : nullptr;
    if (is == nullptr) return false;
    for (; from < at; ++from) curve[from] = reached;
    adds[at] = fraction(distance(*was, *is).greatest, whole);
    reached = fraction(distance(*eager, *is).greatest, whole);
    was = is;
  }
  for (; from < curve.size(); ++from) curve[from] = reached;
  for (std::size_t i = 0; i < adds.size(); ++i) out_.steps[i].adds = adds[i];
  out_.curve = std::move(curve);
  return true;
}

/// The steps that add most, the greatest first: those of a tenth or more.
OperatorSearch::Places OperatorSearch::greatest_contributions() const {
  Places greatest;
  for (std::size_t i = 0; i < out_.steps.size(); ++i) {
    if (out_.steps[i].adds * kBand >= 1) greatest.push_back(i);
  }
  std::stable_sort(greatest.begin(), greatest.end(), [&](std::size_t a, std::size_t b) {
    return out_.steps[a].adds > out_.steps[b].adds;
  });
  return greatest;
}

/// Accuses of the steps that diverge alone the one whose difference makes most of the divergence,
/// once eager goes on from it; where that cannot be asked, the first one.
void OperatorSearch::find_alone() {
  Places accused = {alone_.front()};
  const TensorView* eager = tensor_in(seen_.eager, suspect_.fault.value());
  const auto& magnitude = suspect_.fault.magnitude;
  if (eager != nullptr && magnitude && !writes_) {
    std::map<std::size_t, GivenValues> given;
    for (const std::size_t at : alone_) {
      const auto& compiled = tried_alone_.at(at).compiled;
      if (!compiled || compiled->outcome != Outcome::returned) continue;
      given.emplace(at, seen_.eager).first->second.add(*compiled, 0, false);
    }
    const auto continued = continued_from(given);
    std::size_t next = 0;
    for (const auto& [at, values] : given) {
      const auto& after = continued[next++];
      const TensorView* is = after ? tensor_in(*after, suspect_.fault.value()) : nullptr;
      if (is == nullptr) continue;
      out_.steps[at].adds = fraction(distance(*eager, *is).greatest, magnitude->absolute);
    }
    accused = greatest_contributions();
    if (accused.empty()) {
      out_.besides.push_back(
          fmt::format("`{}` diverges alone, but by less than a tenth of this, once eager goes on",
                      out_.steps[alone_.front()].name));
      return;
    }
  }
  blame({accused.front()}, How::alone);
  out_.also.assign(accused.begin() + 1, accused.end());
}

/// Compiles the program with eager's results in the place of some steps.  Whether it has the
/// divergence still; nothing: it cannot be done, or there was no time.
std::optional<bool> OperatorSearch::stays_without(const Places& steps) {
  if (writes_ || suspect_.declared->calls.size() != 1 || suspect_.declared->prepare ||
      suspect_.declared->program.backward)
    return std::nullopt;
  // Without a step that draws, those after it would draw something else.
  if (std::any_of(steps.begin(), steps.end(), [&](std::size_t at) { return draws_.contains(at); }))
    return std::nullopt;
  const auto is_out = [&](std::size_t at) {
    return std::find(steps.begin(), steps.end(), at) != steps.end();
  };
  std::vector<FlatStep> kept;
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    if (!is_out(i)) kept.push_back(flat_[i]);
  }
  // Where nothing is left that leads to the output, it is eager's, whoever is to blame.
  std::vector<std::string> replaced;
  for (const std::size_t at : steps) {
    for (std::string& name : results_of(flat_[at].step)) replaced.push_back(std::move(name));
  }
  if (contains(replaced, suspect_.fault.value())) return std::nullopt;
  auto derived = replace_by_values(*suspect_.declared, kept, replaced, seen_.eager);
  if (!derived) return std::nullopt;
  std::string names;
  for (const std::size_t at : steps) names += (names.empty() ? "" : ", ") + out_.steps[at].name;
  const Tried tried = trials_.run_one({trial_name("eager's " + names),
                                       std::make_shared<const Case>(std::move(*derived)),
                                       {suspect_.path}});
  if (!tried.verdict || !info(tried.verdict->found.status).judged()) return std::nullopt;
  return has(*tried.verdict, suspect_.fault);
}

/// Tries to contradict what is said of the accused steps.  What is contradicted is not said.
void OperatorSearch::confirm() {
  if (out_.guilty.empty()) return;
  Places all = out_.guilty;
  all.insert(all.end(), out_.also.begin(), out_.also.end());
  std::optional<bool> stays = stays_without(all);
  if (stays == true) {  // others that add little may make much of it once these do not
    Places more = all;
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const bool there = std::find(all.begin(), all.end(), i) != all.end();
      if (!there && out_.steps[i].adds >= kLittle) more.push_back(i);
    }
    if (more.size() > all.size() && stays_without(more) == false) {
      out_.also.insert(out_.also.end(), more.begin() + static_cast<std::ptrdiff_t>(all.size()),
                       more.end());
      all = std::move(more);
      stays = false;
    }
  }
  std::vector<std::string> names;
  for (const std::size_t at : all) names.push_back("`" + out_.steps[at].name + "`");
  if (stays == true) {
    out_.besides.push_back(fmt::format(
        "with eager's {} in its place the divergence stays, so nobody is accused; that was the "
        "first guess",
        enumerate(names)));
    out_.guilty.clear();
    out_.also.clear();
    out_.how = How::unknown;
    out_.cast.clear();
    out_.amplifier.clear();
    return;
  }
  const ExplainedStep& first = out_.steps[out_.guilty.front()];
  double adds = 0;
  for (const std::size_t at : all) adds = std::max(adds, out_.steps[at].adds);
  if (!out_.curve.empty() && adds * kBand >= 1) {
    out_.borne_out.push_back(fmt::format(
        "eager makes other values of what {} {} given; with them, and eager from there on, "
        "{:.0f} % of the divergence is gone",
        all.size() == 1 ? "`" + first.name + "`" : "these steps", all.size() == 1 ? "was" : "were",
        100 * std::min(adds, 1.0)));
    // Of the step that makes the output itself nothing else is left to try.
    out_.certain = !stays;
  }
  const auto makes_it = [&](std::size_t at) {
    return contains(results_of(flat_[at].step), suspect_.fault.value());
  };
  const bool alone = out_.how == How::alone && (flat_.size() == 1 || makes_it(out_.guilty.front()));
  out_.certain = out_.certain || out_.how == How::raises || (alone && !stays);
  if (stays == false) {
    out_.borne_out.push_back(fmt::format(
        "with eager's {} in place of compiled's, the divergence ends", enumerate(names)));
    out_.certain = true;
  }
}

}  // namespace lockstep
