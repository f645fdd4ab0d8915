#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/status.h"
#include "paths/observation.h"

namespace lockstep {

/// How strict a promise a result keeps, strictest first.  A fixed ladder: every compared output is
/// graded on it, whatever policy the case asked for.
enum class Grade { bits, ulp4, close, no_worse1, same1e3, none };

/// "bits", "ulp4", "close", "no_worse1", "same1e-3", "none".
std::string_view name_of(Grade grade);
std::optional<Grade> find_grade(std::string_view name);

/// What the expectations make of a verdict.
enum class Standing {
  plain,
  known,
  fixed,
  waived
};  // `plain` is called "new" outside: `new` is taken in C++

std::string_view name_of(Standing standing);
std::optional<Standing> find_standing(std::string_view name);

/// Where the elements of an output lie that differ: the tensor as a matrix (the last dimension
/// along its rows, all others down), cut into at most 16 by 16 cells of equal size.
struct HeatMap {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> differing;  ///< elements not bit-equal, for each cell, row by row
  std::vector<double> greatest;         ///< |compiled - eager|, three digits; infinity where NaN or
                                        ///< infinity differs

  bool operator==(const HeatMap&) const = default;
};

/// How many elements of an output differ in which way; each is counted once, in the first class
/// that fits.  A complex element counts once, by its worst part.
struct DifferenceClasses {
  std::int64_t nan = 0;        ///< one side is NaN
  std::int64_t infinity = 0;   ///< one side is infinite, or both with other signs
  std::int64_t zero_sign = 0;  ///< both are zero, with other signs
  std::int64_t subnormal = 0;  ///< one side is subnormal, the other is subnormal or zero
  std::int64_t last_bits = 0;  ///< at most 4 ulp apart
  std::int64_t value = 0;      ///< everything else; integers and booleans

  bool operator==(const DifferenceClasses&) const = default;
};

/// One element that differs, of a pointwise case.
struct FirstDifference {
  std::vector<std::int64_t> index;
  std::vector<std::string> inputs;  ///< "x = 0.0645 (0x2c21)", for each input of the output's shape
  std::string eager;
  std::string compiled;

  bool operator==(const FirstDifference&) const = default;
};

/// How far both sides of a pointwise case are from the fp64 gold where the inputs are of one kind;
/// or where the sides differ.
struct Accuracy {
  std::string inputs;  ///< "normal", "subnormal" or "special" (zero, infinity, NaN): that of
                       ///< the inputs' elements which comes last in this list; or "differing"
  std::int64_t elements = 0;
  double eager = 0;     ///< greatest error, in ulp of the output's dtype at the truth; infinity
  double compiled = 0;  ///< where NaN or infinity is wrong

  bool operator==(const Accuracy&) const = default;
};

/// The numbers of one output (or input after the call, or gradient) compared between two
/// observations.
struct OutputComparison {
  std::string name;    ///< "y", "input x", "grad x"; with several calls "y, call 2"
  std::string policy;  ///< the policy that was applied, spelled as in a case file
  Status status = Status::conform;
  std::string reason;  ///< one line; empty when it conforms
  std::string type;    ///< "float32[4, 5]"
  std::optional<Grade> grade;
  std::int64_t elements = 0;
  std::int64_t differing = 0;     ///< elements that are not bit-equal (a NaN equals a NaN)
  std::optional<double> max_abs;  ///< greatest |compiled - eager| where both are finite
  std::optional<double> max_rel;  ///< greatest |compiled - eager| / |eager|, eager finite and not 0
  std::optional<std::uint64_t> max_ulp;
  std::vector<std::int64_t> worst;  ///< index of the element that `eager` and `compiled` show
  std::string eager;                ///< that element, exactly
  std::string compiled;
  bool vacuous = false;  ///< all zeros, all NaN or empty on both sides: agreement says little
  std::optional<HeatMap> heat;  ///< of an output that does not conform and has several elements
  DifferenceClasses classes;    ///< of what differs
  std::vector<FirstDifference> first;  ///< at most four, of a pointwise case
  std::vector<Accuracy> accuracy;      ///< of a pointwise case with an fp64 gold
  std::vector<std::string> tensors;    ///< files of `run --keep`, relative to the run's directory

  bool operator==(const OutputComparison&) const = default;
};

/// The expectation that a verdict met or missed.
struct ExpectationRef {
  std::string file;  ///< relative to the suite, with line: "expected/known/inductor.json:12"
  std::string status;
  std::string because;
  std::string reason;
  std::string link;

  bool operator==(const ExpectationRef&) const = default;
};

/// The judgement of one instance on one path.
struct Verdict {
  std::string id;  ///< instance/path
  std::string instance;
  std::string path;
  std::string device;
  std::string title;      ///< of the case
  std::string case_file;  ///< relative to the suite
  int case_line = 1;
  std::size_t index = 0;  ///< place in the plan

  Status status = Status::conform;
  std::optional<Grade> grade;  ///< the worst of the outputs; empty when nothing was compared
  std::string reason;          ///< one line; for `conform` empty or a remark
  std::string nearer;  ///< "compiled", "eager", "both", "ill-conditioned" or empty: who is nearer
                       ///< to the gold
  std::vector<OutputComparison> outputs;
  /// It was compiled in one graph with so many others, and conforms; 0: alone.
  std::size_t shared = 0;
  bool unstable = false;  ///< the compiled callable disagrees with itself
  bool vacuous = false;   ///< nothing to compile, or every output vacuous
  std::optional<RaisedError> eager_error;
  std::optional<RaisedError> compiled_error;
  std::string stage;  ///< the last stage that the path reached
  nlohmann::ordered_json proof;
  std::map<std::string, double> phases;  ///< seconds by stage, of the path
  double seconds = 0;                    ///< wall clock of the path's execution, judged
  std::int64_t peak_memory_bytes = 0;
  std::string stderr_tail;

  Standing standing = Standing::plain;
  std::optional<ExpectationRef> expectation;
  std::vector<std::string> links;  ///< of the case
  std::string repro;               ///< the command that repeats it
  std::string program;             ///< the case as a person reads it (cases/show.h)
  std::vector<std::string> tags, operators,
      dtypes;  ///< of the case, for filters; dtypes of its inputs

  /// Whether it fails a run.
  bool fails(bool strict) const;

  bool operator==(const Verdict&) const = default;
};

/// Keys are the members' names (`class` for class_name); a member that has its initial value is
/// left out.  A standing `plain` is written as "new".
nlohmann::ordered_json to_json(const Verdict& verdict);
/// The exact inverse.  Unknown keys are ignored; a key of another type is an error with its JSON
/// pointer.
Result<Verdict> verdict_from_json(const nlohmann::ordered_json& json);

}  // namespace lockstep
