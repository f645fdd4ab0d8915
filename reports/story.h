#pragma once

#include <string>
#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// What a line of a story is about; the console gives each its own look.
enum class Part { title, reason, numbers, note, error, output, expectation, link, repro };

struct StoryLine {
  Part part;
  std::string text;  ///< one line, clean (text.h); an indentation belongs to it
};

/// What a story includes.
struct StoryOptions {
  bool title = true;
  bool all_outputs = false;         ///< else only those that do not conform
  std::size_t error_limit = 4096;   ///< bytes of each side's error message
  std::size_t output_limit = 4096;  ///< bytes of what the worker wrote to standard error
};

/// The whole story of a verdict as text, the same in every report: title, reason, numbers of each
/// output, who is nearer, the errors of both sides, the expectation, links, and last the command
/// that repeats it.
std::vector<StoryLine> story_of(const Verdict& verdict, const StoryOptions& options = {});

/// Its lines in one text, without a final newline.
std::string story_text(const Verdict& verdict, const StoryOptions& options = {});

/// One line, never empty: the reason, or what the status means.
std::string headline(const Verdict& verdict);

/// "12 of 20 elements differ, by up to 3.5e-05, relative 2.4e-04, 2,048 ulp".
std::string size_of_difference(const OutputComparison& output);

/// "compiled with 23 others"; empty where it was compiled alone.
std::string shared_remark(const Verdict& verdict);

/// "unstable: conform 2 times, crash once", "every time the same: crash 3 times"; empty of what was
/// executed once and agrees with itself.
std::string stability_remark(const Verdict& verdict);

/// Who executed it, where that needs saying: "40 % ran outside the path's own code:
/// aten::mm", "the path states who executed it"; else empty.
std::string execution_remark(const Verdict& verdict);

/// "fingerprints celu:value, celu-gradient:eager-nan"; empty where there is none.
std::string fingerprints_line(const Verdict& verdict);

/// "expected value_diverges (bug): reason"; empty without an expectation.
std::string expectation_line(const Verdict& verdict);

}  // namespace lockstep
