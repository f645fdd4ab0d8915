#include "explain/fault.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

Fault fault_of(const Verdict& verdict) {
  Fault fault;
  fault.status = verdict.found.status;
  fault.kind = kind_of(verdict);
  if (!verdict.found.differences.empty()) take_apart(verdict.found.differences.front().name, fault);
  const OutputComparison* output = comparison_of(verdict, fault.name, fault.call);
  fault.bits = output != nullptr && output->policy.starts_with("bits");
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
  if (verdict.found.status != fault.status && !fault.is_output()) return false;
  if (!fault.is_output()) return kind_of(verdict) == fault.kind;
  return std::any_of(verdict.found.differences.begin(), verdict.found.differences.end(),
                     [&](const Difference& difference) {
                       Fault other;
                       take_apart(difference.name, other);
                       return difference.status == fault.status && other.name == fault.name;
                     });
}

}  // namespace lockstep
