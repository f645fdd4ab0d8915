#include "program/edit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "program/visit.h"

namespace lockstep {
namespace {

/// Visits every name.
template <class Change>
struct EachName : Visitor {
  Change change;

  explicit EachName(Change function) : change(std::move(function)) {}
  void uses(std::string& name) { change(name); }
  void defines(std::string& name) { change(name); }
};

struct Defined : Visitor {
  std::set<std::string> names;

  void defines(const std::string& name) { names.insert(name); }
};

/// Collects what is wrong with names.
struct Checked : Visitor {
  std::set<std::string> defined;
  std::vector<std::string> missing;
  std::vector<std::string> twice;
  std::vector<std::vector<std::string>> within;  ///< sub-programs: what each has defined

  void uses(const std::string& name) {
    const std::string shown = "`" + name + "`";
    if (!defined.contains(name) &&
        std::find(missing.begin(), missing.end(), shown) == missing.end())
      missing.push_back(shown);
  }
  void defines(const std::string& name) {
    if (!defined.insert(name).second) twice.push_back("`" + name + "`");
    if (!within.empty()) within.back().push_back(name);
  }
  void begins(const SubProgram&) { within.emplace_back(); }
  void ends(const SubProgram&) {
    for (const std::string& name : within.back()) defined.erase(name);
    within.pop_back();
  }
};

struct Substitution : Visitor {
  std::string_view name;
  const Value& with;
  std::size_t count = 0;

  Substitution(std::string_view old, const Value& value) : name(old), with(value) {}
  void value(Value& value) {
    const auto* ref = std::get_if<Ref>(&value.is);
    if (ref == nullptr || ref->name != name) return;
    value = with;
    ++count;
  }
};

struct MovedLiterals : Visitor {
  std::size_t by = 0;

  void step(Step& step) {
    if (auto* tensor = std::get_if<LiteralTensor>(&step.does)) tensor->index += by;
  }
};

/// The list that holds the step, or nullptr if there is none.
std::vector<Step>* list_of(Program& program, const StepPlace& place) {
  std::vector<Step>* steps = &program.steps;
  for (std::size_t i = 0; i + 1 < place.size(); ++i) {
    if (place[i] >= steps->size()) return nullptr;
    auto* block = std::get_if<WithBlock>(&(*steps)[place[i]].does);
    if (block == nullptr) return nullptr;
    steps = &block->steps;
  }
  return place.empty() || place.back() >= steps->size() ? nullptr : steps;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

std::set<std::string> defined_names(const Program& program) {
  Defined defined;
  walk(program, defined);
  return std::move(defined.names);
}

Result<void> check_program(const Program& program) {
  Checked checked;
  walk(program, checked);
  if (!checked.missing.empty())
    return fail(
        fmt::format("{} used, and nothing before defines {}",
                    enumerate(checked.missing) + (checked.missing.size() > 1 ? " are" : " is"),
                    checked.missing.size() > 1 ? "them" : "it"));
  if (!checked.twice.empty())
    return fail(
        fmt::format("{} defined for the second time",
                    enumerate(checked.twice) + (checked.twice.size() > 1 ? " are" : " is")));
  return {};
}

Result<void> rename(Program& program, const std::map<std::string, std::string>& names) {
  const std::set<std::string> before = defined_names(program);
  std::set<std::string> after;
  for (const auto& [from, to] : names) {
    if (!before.contains(from)) return fail(fmt::format("there is no name `{}`", from));
    if (!is_name(to)) return fail(fmt::format("found `{}`, expected a name", one_line(to, 60)));
  }
  for (const std::string& name : before) {
    const auto found = names.find(name);
    const std::string& now = found == names.end() ? name : found->second;
    if (!after.insert(now).second) return fail(fmt::format("two would have the name `{}`", now));
  }
  EachName visit([&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  });
  walk(program, visit);
  return {};
}

void add_prefix(Program& program, std::string_view prefix) {
  EachName visit([&](std::string& name) { name.insert(0, prefix); });
  walk(program, visit);
}

Result<void> replace(Program& program, const StepPlace& place, std::vector<Step> steps) {
  Program changed = program;
  std::vector<Step>* list = list_of(changed, place);
  if (list == nullptr) return fail(fmt::format("there is no step {}", fmt::join(place, ".")));
  const auto at = list->erase(list->begin() + static_cast<std::ptrdiff_t>(place.back()));
  list->insert(at, std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
  if (auto good = check_program(changed); !good) return good;
  program = std::move(changed);
  return {};
}

Result<void> drop(Program& program, const StepPlace& place) { return replace(program, place, {}); }

std::size_t substitute(Program& program, std::string_view name, const Value& value) {
  Substitution substitution(name, value);
  walk(program, substitution);
  return substitution.count;
}

bool can_splice(const Program& whole, const Program& part) {
  if (whole.context != part.context || whole.backward.has_value() != part.backward.has_value())
    return false;
  // A constant has the name of its place, which would be another one.
  if (!whole.carry.empty() || !part.carry.empty()) return false;
  if (returns_constants(whole) || returns_constants(part)) return false;
  if (!whole.backward) return true;
  const Backward& a = *whole.backward;
  const Backward& b = *part.backward;
  return a.with.has_value() == b.with.has_value() && a.retain_graph == b.retain_graph &&
         a.twice == b.twice;
}

Result<void> splice(Program& whole, Program part, std::size_t literals) {
  if (!can_splice(whole, part))
    return fail(
        "the programs differ in their context, or in what their backward begins with, return "
        "constants, or carry values");
  const std::set<std::string> taken = defined_names(whole);
  for (const std::string& name : defined_names(part)) {
    if (taken.contains(name))
      return fail(fmt::format("both programs define `{}`", name), "rename it in one of them");
  }
  MovedLiterals moved;
  moved.by = literals;
  walk(part, moved);
  append(whole.inputs, part.inputs);
  append(whole.constants, part.constants);
  append(whole.steps, part.steps);
  append(whole.outputs, part.outputs);
  if (whole.backward) append(whole.backward->of, part.backward->of);
  if (whole.backward && whole.backward->with) append(*whole.backward->with, *part.backward->with);
  return {};
}

}  // namespace lockstep
