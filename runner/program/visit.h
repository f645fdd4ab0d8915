#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "program/program.h"

namespace lockstep {

/// What a walk tells.  Derive from it and declare those functions that matter; a function of the
/// derived type hides the one here.  A walk over something const gives const references.
struct Visitor {
  /// A step, before its parts; a `with` block, too.
  template <class S>
  void step(S&) {}
  /// A value that a step is given, after the values in it; it may be changed.
  template <class V>
  void value(V&) {}
  /// A name that is used: by a value, among the constants, as an output, by `carry` and
  /// `backward`.
  template <class N>
  void uses(N&) {}
  /// A name that is defined: an input, a result.
  template <class N>
  void defines(N&) {}
  /// A sub-program, before its inputs and behind its outputs: what it defines is known in it alone.
  template <class P>
  void begins(P&) {}
  template <class P>
  void ends(P&) {}
};

namespace walking {

template <class V, class Visit>
void value(V& value, Visit& visit) {
  if (auto* list = std::get_if<Value::List>(&value.is)) {
    for (auto& item : *list) walking::value(item, visit);
  } else if (auto* ref = std::get_if<Ref>(&value.is)) {
    visit.uses(ref->name);
  }
  visit.value(value);
}

template <class L, class Visit>
void values(L& list, Visit& visit) {
  for (auto& item : list) walking::value(item, visit);
}

template <class I, class Visit>
void index(I& items, Visit& visit) {
  for (auto& item : items) {
    if (auto* single = std::get_if<Value>(&item)) {
      walking::value(*single, visit);
    } else if (auto* slice = std::get_if<Slice>(&item)) {
      walking::value(slice->start, visit);
      walking::value(slice->stop, visit);
      walking::value(slice->step, visit);
    }
  }
}

template <class A, class Visit>
void arguments(A& arguments, Visit& visit) {
  walking::values(arguments.args, visit);
  for (auto& [name, value] : arguments.kwargs) walking::value(value, visit);
}

}  // namespace walking

/// Walks over a step in the order of its execution: what it uses, then what it defines.
template <class S, class Visit>
requires std::is_same_v<std::remove_const_t<S>, Step>
void walk(S& step, Visit& visit) {
  visit.step(step);
  if (auto* op = std::get_if<OpCall>(&step.does)) {
    walking::arguments(op->arguments, visit);
  } else if (auto* call = std::get_if<FunctionCall>(&step.does)) {
    walking::arguments(call->arguments, visit);
  } else if (auto* get = std::get_if<GetItem>(&step.does)) {
    walking::value(get->base, visit);
    walking::index(get->index, visit);
  } else if (auto* set = std::get_if<SetItem>(&step.does)) {
    walking::value(set->base, visit);
    walking::index(set->index, visit);
    walking::value(set->to, visit);
  } else if (auto* scalar = std::get_if<ScalarCall>(&step.does)) {
    walking::values(scalar->operands, visit);
  } else if (auto* grad = std::get_if<GradCall>(&step.does)) {
    walking::values(grad->of, visit);
    walking::values(grad->wrt, visit);
    if (grad->with) walking::values(*grad->with, visit);
  } else if (auto* block = std::get_if<WithBlock>(&step.does)) {
    for (auto& inner : block->steps) walk(inner, visit);
  } else if (auto* apply = std::get_if<ApplyCall>(&step.does)) {
    walking::arguments(apply->arguments, visit);
    for (auto& program : apply->programs) {
      visit.begins(program);
      for (auto& name : program.inputs) visit.defines(name);
      for (auto& inner : program.steps) walk(inner, visit);
      for (auto& name : program.outputs) visit.uses(name);
      visit.ends(program);
    }
  }
  for (auto& name : step.let) {
    if (name) visit.defines(*name);
  }
}

/// The names that steps use and define where they stand: those that are known in sub-programs alone
/// are none of them.
struct OuterNames : Visitor {
  std::vector<std::string> used, defined;  ///< each as often as it is

  void uses(const std::string& name) {
    if (std::find(inner_.begin(), inner_.end(), name) == inner_.end()) used.push_back(name);
  }
  void defines(const std::string& name) { (depth_ > 0 ? inner_ : defined).push_back(name); }
  void begins(const SubProgram&) {
    ++depth_;
    sizes_.push_back(inner_.size());
  }
  void ends(const SubProgram&) {
    --depth_;
    inner_.resize(sizes_.back());
    sizes_.pop_back();
  }

 private:
  int depth_ = 0;
  std::vector<std::string> inner_;
  std::vector<std::size_t> sizes_;
};

/// Walks over a whole program: inputs, steps, outputs, `backward`.
template <class P, class Visit>
requires std::is_same_v<std::remove_const_t<P>, Program>
void walk(P& program, Visit& visit) {
  for (auto& name : program.inputs) visit.defines(name);
  for (auto& name : program.constants) visit.uses(name);
  for (auto& step : program.steps) walk(step, visit);
  for (auto& output : program.outputs) {
    if (auto* ref = std::get_if<Ref>(&output.is)) visit.uses(ref->name);
  }
  for (auto& [input, from] : program.carry) {
    visit.uses(input);
    visit.uses(from);
  }
  if (!program.backward) return;
  for (auto& name : program.backward->of) visit.uses(name);
  if (!program.backward->with) return;
  for (auto& name : *program.backward->with) visit.uses(name);
}

}  // namespace lockstep
