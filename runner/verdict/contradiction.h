#pragma once

#include <string>

#include "verdict/verdict.h"

namespace lockstep {

/// What in a verdict contradicts itself, in a phrase; empty where it is of a piece.  From what the
/// leaves of the policies measured, the status and the grade of every output are told again, and
/// from these and the differences those of the verdict:
///
/// - a leaf holds where what it measured is within its limit, and its policy is the next one that
///   the output's would ask; the counts that it repeats are those of the output;
/// - an output conforms where its policy holds and no difference is about it; one that has the same
///   bits needs no leaves;
/// - its grade is the first layer of the grading that holds;
/// - the verdict has the status of its first difference; it conforms where there is none, and
///   something was compared or both sides raised;
/// - a standing other than `new` rests on an expectation of that status.
///
/// It finds a verdict that was rewritten in part, and a judge with a fault.  Whoever rewrites all
/// of a verdict is not found out: a log is no proof of itself.
std::string contradiction(const Verdict& verdict);
/// The same of what the judge found, which has no standing yet.
std::string contradiction(const Findings& found);

}  // namespace lockstep
