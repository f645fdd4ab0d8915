#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/status.h"

namespace lockstep {

/// A layer of the ladder and what was found on it.
struct ExplainedLayer {
  std::string path;
  std::string status;  ///< by its name in the log; empty: not judged
  bool diverges = false;

  bool operator==(const ExplainedLayer&) const = default;
};

/// What was found about one step of the program.
struct ExplainedStep {
  std::string name;  ///< of its first result; empty where it has none
  std::string text;  ///< as code: "h = aten::to.dtype(x, float16)"
  std::string op;    ///< "to.dtype"; empty of a step that calls no operator
  /// Where the user's program says it, "net.py:8 in Net.forward"; empty: the case does not say.
  std::string source;
  /// How its value compares with eager's, seen in the program that diverges: "same", "differs", or
  /// empty: it was not seen.
  std::string value;
  /// Whether eager gives the same from the step's arguments: "yes", "no", or empty: not known.
  std::string explained;
  /// What becomes of it as a program of its own on eager's values: the status by its name in the
  /// log; empty: not tried.
  std::string alone;
  /// How much of the divergence comes in with it, as a fraction: what changes in the output when
  /// eager goes on from compiled's result of this step instead of from eager's.  0: nothing, or not
  /// known (`curve`).
  double adds = 0;
  // The element at which the numbers of the explanation are read.
  std::string type;              ///< "float16[4, 5]"
  std::vector<std::int64_t> at;  ///< its index
  std::string eager, compiled;   ///< exactly; empty: not known
  std::string fp64, stepwise;    ///< golds, likewise

  bool operator==(const ExplainedStep&) const = default;
};

/// A documented setting that was tried.
struct ExplainedKnob {
  std::string name, title;
  std::string status;  ///< what the verdict is with it; empty: not tried
  std::string why;     ///< why it was not, or why it cannot be
  bool ends = false;   ///< the divergence: what is left, if anything, is another one
  /// How much of it is left, as a fraction; -1: it cannot be told.
  double leaves = -1;

  bool operator==(const ExplainedKnob&) const = default;
};

/// Which of torch's passes or lowerings it takes, by torch's own counts.
struct ExplainedPass {
  std::string backend, subsystem;  ///< "inductor", "lowerings"; empty: not found
  std::int64_t number = -1;        ///< which application of it, from 0; -1: all or none
  std::string what;                ///< what torch says of that one
  std::string why;                 ///< why nothing was found

  bool operator==(const ExplainedPass&) const = default;
};

/// How the guilty steps were found.
enum class How {
  unknown,   ///< none was found
  alone,     ///< each diverges by itself
  fused,     ///< only together
  value,     ///< eager gives another result from the same arguments; only in the whole program
  first,     ///< the shortest beginning of the program that diverges ends with it
  gradient,  ///< its backward alone
  raises,    ///< eager's error is its
};

/// Everything that depends on it alone.  The table in explanation.cpp is its only home.
struct HowInfo {
  How how;
  std::string_view name;   ///< as in logs; empty: the key is left out
  std::string_view brief;  ///< who did it in a few words; {} is the operators
  std::string_view full;   ///< as a sentence; {0} is the steps, {1} what became of the first alone
  bool in_context;  ///< the steps are guilty among others only: no program of their own shows it
};

/// All of them in the order of the enumeration.
std::span<const HowInfo> all_hows();
const HowInfo& info(How how);

/// Who did it: the answer to a verdict that diverges.
struct Explanation {
  std::string id;      ///< of the verdict
  std::string status;  ///< by its name in the log
  std::string reason;
  std::string output;  ///< the output, input or gradient that it is about
  std::string size;    ///< how great: "|Δ| 3.2e-4"; empty where nothing is measured
  std::string policy;  ///< of what conforms, which policy lets it pass and why
  double seconds = 0;
  std::size_t executions = 0;  ///< verdicts that it took
  /// Questions that are open, because time ran out or nothing could be derived.
  std::vector<std::string> open;

  std::vector<ExplainedLayer> ladder;  ///< lowest first
  std::string layer;        ///< the path of the first layer that diverges; empty: none does
  std::string layer_title;  ///< what that layer adds, in its own words (`layer` of its file)
  /// Differences that are not this one: of lower layers, of steps.  Sentences.
  std::vector<std::string> besides;
  /// What it takes: "two threads", "a second call".  Each was tried without.
  std::vector<std::string> conditions;

  std::vector<ExplainedStep> steps;
  /// What seeing all steps at once did to the divergence: "stays", "vanishes"; empty: not tried.
  std::string observing;
  std::vector<std::string> ended_by;  ///< values that end the divergence when they are observed
  /// Which of `steps`: those of which the most comes, with those that it takes beside it.
  std::vector<std::size_t> guilty;
  std::vector<std::size_t> also;  ///< others that add a tenth or more of it, the greatest first
  /// How much of the divergence there is once a step and all before it are compiled's and the rest
  /// is eager's, as a fraction, for each step; empty: not known.
  std::vector<double> curve;
  /// Whether what is said of the steps stood when somebody tried to contradict it: without them,
  /// eager's values in their place, the divergence ends.  Else it is likely, no more.
  bool certain = false;
  std::vector<std::string> borne_out;  ///< the executions that say so, as sentences
  How how = How::unknown;              ///< these were found
  std::string cast;       ///< the cast that one side lacks, as a sentence; empty: none was found
  std::string amplifier;  ///< the step that makes rounding a difference; empty: none
  /// What agrees with eager, and with the path, at that element: "fp64", "stepwise".
  std::vector<std::string> agrees_with_eager, agrees_with_compiled;

  std::vector<ExplainedKnob> knobs;
  ExplainedPass pass;
  std::string sentence;  ///< all of it in one

  bool operator==(const Explanation&) const = default;

  /// The operators of the guilty steps, each once: "to.dtype".
  std::vector<std::string> operators() const;
};

/// Keys are the members' names; what is empty is left out.
nlohmann::ordered_json to_json(const Explanation& explanation);

/// Whether JSON that anybody may have written is what to_json makes: every key that there is has
/// the type that readers of it expect.  Unknown keys are left alone.
Result<void> check_explanation(const nlohmann::ordered_json& json);

/// The sentence that sums an explanation up: "Inductor, fusion of `to.dtype` twice; ends with
/// emulate_precision_casts; the eager-faithful gold agrees with eager".
std::string sentence_of(const Explanation& explanation);

}  // namespace lockstep
