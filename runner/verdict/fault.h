#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "verdict/verdict.h"

// One notion of "the same divergence", by which the ladder, `explain` and `shrink` go: its kind,
// the output that it is about, how great it is, and which side is nearer to the truth.
namespace lockstep {

/// How great a divergence is in one output.
struct Magnitude {
  double absolute = 0;             ///< greatest |compiled − eager|
  std::optional<double> relative;  ///< that, as a fraction of eager's element there
  /// Greatest distance in ulp, if the verdict failed by that; only then it counts.
  std::optional<double> ulps;

  bool operator==(const Magnitude&) const = default;
};

/// Within a factor of ten, two magnitudes are those of one divergence: twice as much may come of
/// other values, or of other rounding on the way; a hundred times comes from somewhere else.
inline constexpr double kBand = 10;

/// Whether two magnitudes are those of one divergence.  By ulp, where both failed by that; else in
/// absolute numbers, or, since a smaller program may have smaller numbers, as a fraction.
bool alike(const Magnitude& a, const Magnitude& b);

/// What a verdict is about, so that other verdicts can be held against it.
struct Fault {
  Status status = Status::conform;
  std::string name;      ///< of the output, "grad x" or "input x"; empty: the whole execution
  std::size_t call = 0;  ///< in which it was found, from 0
  /// The class of the difference, as fingerprints have it after the colon: "eager-nan".
  std::string kind;
  bool bits = false;   ///< that output was asked to have the same bits
  bool shown = false;  ///< its comparison shows the difference: not so where a repetition does
  /// Of values that are finite on both sides.
  std::optional<Magnitude> magnitude;
  std::optional<Nearer> nearer;  ///< to the gold; nothing: not known

  bool is_value() const {
    return status == Status::value_diverges || status == Status::nonfinite_diverges;
  }
  bool is_gradient() const { return lockstep::is_gradient(name); }
  /// The value of the program that it is about, where it is about an output: y of "y(2)".
  std::string value() const { return name.substr(0, name.find('(')); }
  /// Whether it is about what the program returns.
  bool is_output() const { return !name.empty() && name.find(' ') == std::string::npos; }
};

/// The most serious finding of a verdict that diverges.  Of one that conforms, what differs most
/// though the policy lets it pass: its status is `conform`, and its name is empty if nothing does.
Fault fault_of(const Verdict& verdict);

/// How great the difference of an output is; nothing where NaN or infinity differs, or nothing.
std::optional<Magnitude> magnitude_of(const OutputComparison& output);

/// The comparison of an output of one call by its name, or nullptr.
const OutputComparison* comparison_of(const Verdict& verdict, const std::string& name,
                                      std::size_t call);

/// Whether a verdict has this very fault.  A difference of another kind or another magnitude is
/// another one, whatever the status.
bool has(const Verdict& verdict, const Fault& fault);

/// How great the difference is that a verdict has where the fault is, as a fraction of the fault's;
/// 0 if there is none, nothing if it cannot be told.
std::optional<double> share_of(const Verdict& verdict, const Fault& fault);

/// "|Δ| 3.2e-4", or the label of the status.
std::string describe(const Fault& fault);

}  // namespace lockstep
