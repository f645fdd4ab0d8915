#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/measurement.h"
#include "verdict/status.h"

namespace lockstep {

/// How closely a result agrees with eager, strictest first.  A fixed list: every compared output is
/// graded on it, whatever policy the case asked for.
enum class Grade { bits, ulp4, close, no_worse1, same1e3, none };

/// "bits", "ulp4", "close", "no_worse1", "same1e-3", "none".
std::string_view name_of(Grade grade);
/// All of them, strictest first.
std::vector<std::string> grade_names();
std::optional<Grade> find_grade(std::string_view name);
/// The policy that a grade is, in its usual spelling; "bits" and `none` have none to
/// try, and it is empty.
std::string_view policy_of(Grade grade);
/// One line for people.
std::string_view meaning_of(Grade grade);

/// The kinds of inputs that Accuracy tells apart, in its order.
inline constexpr std::array<std::string_view, 3> kInputKinds = {"normal", "subnormal", "special"};

/// In Accuracy::inputs: the row for the elements that differ, whatever their inputs.
inline constexpr std::string_view kDiffering = "differing";

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
  std::int64_t nan = 0;                ///< one side is NaN
  std::int64_t infinity = 0;           ///< one side is infinite, or both with other signs
  std::int64_t zero_sign = 0;          ///< both are zero, with other signs
  std::int64_t subnormal = 0;          ///< one side is subnormal, the other is subnormal or zero
  std::int64_t last_bits = 0;          ///< at most 4 ulp apart
  std::int64_t value = 0;              ///< everything else; integers and booleans
  std::int64_t eager_nan = 0;          ///< of `nan`: eager is NaN; of the others compiled is
  std::int64_t eager_infinity = 0;     ///< of `infinity`: eager alone is infinite
  std::int64_t compiled_infinity = 0;  ///< of `infinity`: compiled alone is; of the rest both are

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

/// The greatest errors of both sides along an input of a pointwise case: between the least and the
/// greatest finite number that it has, cut into at most 256 parts, each of as many numbers of its
/// dtype; into at most 64 where both sides' errors are the same.
struct ErrorCurve {
  std::string input;             ///< the first floating one that has the output's shape
  std::vector<double> from;      ///< the least input of each part that has any, ascending
  std::vector<double> eager;     ///< greatest error, in ulp of the output's dtype at the truth;
                                 ///< infinity where NaN or infinity is wrong
  std::vector<double> compiled;  ///< likewise; empty where it is eager's everywhere

  bool operator==(const ErrorCurve&) const = default;
};

/// What the judge begins with where only the repetition with other seeds shows it.
inline constexpr std::string_view kOtherSeed = "with another seed";

/// One thing that a verdict found wrong.
struct Difference {
  Status status = Status::conform;
  std::string name;  ///< of the output, input or gradient that it is about, "aliases", or empty
  std::string reason;
  /// Of a compiled program that disagrees with itself: the execution (2 is the second) that showed
  /// it; 0: the one whose outputs the verdict lists.
  std::size_t repetition = 0;

  bool operator==(const Difference&) const = default;
};

/// What the names of inputs and gradients begin with among those of outputs: "input x", "grad x".
inline constexpr std::string_view kInputPrefix = "input ", kGradientPrefix = "grad ";
constexpr bool is_input(std::string_view name) { return name.starts_with(kInputPrefix); }
constexpr bool is_gradient(std::string_view name) { return name.starts_with(kGradientPrefix); }

/// The numbers of one output (or input after the call, or gradient) compared between two
/// observations.
struct OutputComparison {
  std::string name;                 ///< "y", "input x", "grad x"; with several calls "y, call 2"
  std::string policy;               ///< the policy that was applied, spelled as in a case file
  Status status = Status::conform;  ///< of the first of its differences
  std::string reason;               ///< one line; empty when it conforms
  std::string type;                 ///< "float32[4, 5]"
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
  std::string weak;      ///< why it says little that it conforms although it differs (weak.h)
  /// The leaves of the policy that were asked, in order; empty where nothing differs.
  std::vector<Measurement> checks;
  /// The layers below `bits` that were tried for the grade, in order, up to the first that holds.
  std::vector<Measurement> grading;
  std::optional<HeatMap> heat;  ///< of an output that does not conform and has several elements
  DifferenceClasses classes;    ///< of what differs
  /// How many elements are 1, 2, 3 to 4, 5 to 8, … ulp apart: finite ones that are not the same
  /// number, a complex one by its worst part.  Ends with the last that is not 0.
  std::vector<std::int64_t> ulp_histogram;
  /// Who computed the fp64 gold that it was held against; empty: there was none.
  std::string gold;
  std::vector<FirstDifference> first;     ///< at most four, of a pointwise case
  std::vector<Accuracy> accuracy;         ///< of a pointwise case with an fp64 gold
  std::optional<ErrorCurve> error_curve;  ///< likewise, of at least 256 elements
  std::vector<std::string>
      tensors;  ///< files of `run --save-tensors`, relative to the run's directory

  bool operator==(const OutputComparison&) const = default;
};

/// The grade of values of which so many elements differ, by the layers that were tried: the first
/// that holds.
Grade grade_of(std::int64_t differing, const std::vector<Measurement>& grading);

/// "12 NaN, 3 infinity, 1,040 last bits"; empty where nothing differs.
std::string describe(const DifferenceClasses& classes);

/// The row kDiffering, or nullptr where nothing differs.
const Accuracy* differing_row(const std::vector<Accuracy>& rows);

/// "within 0.5 ulp of the fp64 gold", or "wrong about NaN or infinity".
std::string error_text(double ulps, std::string_view truth);

}  // namespace lockstep
