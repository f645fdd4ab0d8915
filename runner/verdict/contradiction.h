#pragma once

#include <string>

#include "verdict/verdict.h"

namespace lockstep {

/// The contradiction in a verdict, as a phrase; empty if there is none.  From what the
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
/// It finds a verdict that was rewritten in part, and a judge with a fault. A verdict that was
/// rewritten consistently passes: a log cannot prove itself.
std::string contradiction(const Verdict& verdict);
/// The same for the judge's findings, before they have a standing.
std::string contradiction(const Findings& found);

}  // namespace lockstep
