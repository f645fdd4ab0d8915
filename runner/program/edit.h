#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "program/program.h"

// Changes of programs.  If an edit is refused, the program stays unchanged.
namespace lockstep {

/// A step by the places that lead to it: {3} is the fourth step, {3, 0} the first one inside it,
/// where it is a `with` block.
using StepPlace = std::vector<std::size_t>;

/// The inputs and the results of all steps.
std::set<std::string> defined_names(const Program& program);

/// Whether every name is defined once, and before it is used.
Result<void> check_program(const Program& program);

/// Gives names others: inputs, results, and every use of them.  Refused where a name is not there,
/// where another has the new one already, and where the new one is no name.
Result<void> rename(Program& program, const std::map<std::string, std::string>& names);

/// Puts `prefix` before every name.
void add_prefix(Program& program, std::string_view prefix);

/// Puts other steps (or none) in the place of one.  Refused where something that it defined is
/// used and no longer there, and where a name is defined twice then.
Result<void> replace(Program& program, const StepPlace& place, std::vector<Step> steps);

/// Removes a step.  Refused where its results are used.
Result<void> drop(Program& program, const StepPlace& place);

/// Puts a value where `name` is used as one; says how often.  Outputs and `backward` keep it.
std::size_t substitute(Program& program, std::string_view name, const Value& value);

/// Whether what holds for the whole of a program is alike in two, so that they can become one:
/// their contexts, and whether there is a `backward` and what it begins with.  What
/// returns constants or carries values from call to call stays alone.
bool can_splice(const Program& whole, const Program& part);

/// Appends a program: its inputs, steps and outputs, and its `backward` in one with that of
/// `whole`.  `literals` is added to the indices of its literal tensors: how many there are before
/// them in a joint list.  Refused where can_splice is false, and where both define a name.
Result<void> splice(Program& whole, Program part, std::size_t literals);

}  // namespace lockstep
