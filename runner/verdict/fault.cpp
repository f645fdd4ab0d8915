#include "verdict/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

constexpr std::string_view kCall = ", call ";

/// "y, call 2" taken apart.
void take_apart(const std::string& name, Fault& fault) {
  const std::size_t at = name.rfind(kCall);
  fault.name = name.substr(0, at);
  if (at != std::string::npos) {
    const int call = std::atoi(name.c_str() + at + kCall.size());
    fault.call = call > 0 ? static_cast<std::size_t>(call - 1) : 0;
  }
}

std::string kind_of(const Verdict& verdict) {
  const std::vector<Fingerprint> fingerprints = fingerprints_of(verdict);
  return fingerprints.empty()
             ? ""
             : fingerprints.front().name.substr(fingerprints.front().name.rfind(':') + 1);
}

bool in_band(double a, double b) { return a <= b * kBand && b <= a * kBand; }

/// An element as a log has it, as a number; nothing of a complex one.
std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = end != text.c_str() && (*end == '\0' || *end == ' ');
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// What differs most, as a fraction of eager's element, of all that conforms.
const OutputComparison* greatest_that_passes(const Verdict& verdict) {
  const OutputComparison* greatest = nullptr;
  const auto size = [](const OutputComparison& output) {
    const auto magnitude = magnitude_of(output);
    return magnitude ? magnitude->relative.value_or(magnitude->absolute) : HUGE_VAL;
  };
  for (const OutputComparison& output : verdict.found.outputs) {
    if (output.differing == 0) continue;
    if (greatest == nullptr || size(output) > size(*greatest)) greatest = &output;
  }
  return greatest;
}

/// Whether an output's difference is of the fault's kind and magnitude.
bool is_like(const OutputComparison& output, const Fault& fault) {
  if (class_of_values(output) != fault.kind) return false;
  const auto magnitude = magnitude_of(output);
  return !magnitude || !fault.magnitude || alike(*magnitude, *fault.magnitude);
}

/// Whether two verdicts say that other sides are right.
bool contradict(const std::optional<Nearer>& a, const std::optional<Nearer>& b) {
  return (a == Nearer::eager && b == Nearer::compiled) ||
         (a == Nearer::compiled && b == Nearer::eager);
}

}  // namespace

bool alike(const Magnitude& a, const Magnitude& b) {
  if (a.ulps && b.ulps) return in_band(*a.ulps, *b.ulps);
  if (in_band(a.absolute, b.absolute)) return true;
  return a.relative && b.relative && in_band(*a.relative, *b.relative);
}

std::optional<Magnitude> magnitude_of(const OutputComparison& output) {
  if (!output.max_abs || output.differing == 0) return std::nullopt;
  if (output.classes.nan + output.classes.infinity > 0) return std::nullopt;
  Magnitude magnitude{*output.max_abs, std::nullopt, std::nullopt};
  const auto eager = number_in(output.eager), compiled = number_in(output.compiled);
  if (eager && compiled && *eager != 0)
    magnitude.relative = std::fabs(*compiled - *eager) / std::fabs(*eager);
  const auto failed = std::find_if(output.checks.begin(), output.checks.end(),
                                   [](const Measurement& leaf) { return !leaf.ok; });
  if (failed != output.checks.end() && failed->of == Quantity::ulp)
    magnitude.ulps = failed->measured;
  return magnitude;
}

Fault fault_of(const Verdict& verdict) {
  Fault fault;
  fault.status = verdict.found.status;
  fault.nearer = verdict.found.nearer;
  const OutputComparison* output = nullptr;
  if (fault.status == Status::conform) {
    output = greatest_that_passes(verdict);
    if (output == nullptr) return fault;
    take_apart(output->name, fault);
  } else {
    fault.kind = kind_of(verdict);
    if (!verdict.found.differences.empty())
      take_apart(verdict.found.differences.front().name, fault);
    output = comparison_of(verdict, fault.name, fault.call);
  }
  if (output == nullptr) return fault;
  fault.bits = output->policy.starts_with("bits");
  fault.shown = output->differing > 0;
  if (!fault.shown) return fault;
  if (fault.status == Status::conform || fault.is_value()) {
    fault.kind = class_of_values(*output);
    fault.magnitude = magnitude_of(*output);
  }
  return fault;
}

const OutputComparison* comparison_of(const Verdict& verdict, const std::string& name,
                                      std::size_t call) {
  for (const std::string& full : {name, fmt::format("{}{}{}", name, kCall, call + 1)}) {
    for (const OutputComparison& output : verdict.found.outputs) {
      if (output.name == full) return &output;
    }
  }
  return nullptr;
}

bool has(const Verdict& verdict, const Fault& fault) {
  if (fault.shown && (fault.is_value() || fault.status == Status::conform)) {
    const OutputComparison* output = comparison_of(verdict, fault.name, fault.call);
    if (output == nullptr || output->differing == 0 || !is_like(*output, fault)) return false;
    if (contradict(verdict.found.nearer, fault.nearer)) return false;
    return fault.status == Status::conform || output->status != Status::conform;
  }
  const StatusInfo &is = info(verdict.found.status), &was = info(fault.status);
  if (is.rank != was.rank || !is.diverges()) return false;
  if (fault.name.empty()) return is.rank != Rank::error || is.status == was.status;
  return std::any_of(verdict.found.differences.begin(), verdict.found.differences.end(),
                     [&](const Difference& difference) {
                       Fault other;
                       take_apart(difference.name, other);
                       return difference.status == fault.status && other.name == fault.name;
                     });
}

std::optional<double> share_of(const Verdict& verdict, const Fault& fault) {
  const OutputComparison* output = comparison_of(verdict, fault.name, fault.call);
  if (output == nullptr || !fault.magnitude || fault.magnitude->absolute == 0) return std::nullopt;
  if (output->differing == 0) return 0;
  const auto magnitude = magnitude_of(*output);
  if (!magnitude) return std::nullopt;
  return magnitude->absolute / fault.magnitude->absolute;
}

std::string describe(const Fault& fault) {
  if (!fault.magnitude) return std::string(info(fault.status).label);
  if (fault.magnitude->ulps) return fmt::format("{:.0f} ulp", *fault.magnitude->ulps);
  return fmt::format("|Δ| {:.3g}", fault.magnitude->absolute);
}

}  // namespace lockstep
