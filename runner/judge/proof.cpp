#include "judge/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"

namespace lockstep {
namespace {

/// Operator → calls.
using Trace = std::map<std::string, double>;

bool truthy(const Json& json, const char* key) {
  if (!json.is_object()) return false;
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

std::optional<std::int64_t> count_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::optional<Trace> trace_of(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return std::nullopt;
  Trace trace;
  for (const auto& [name, calls] : found->items()) {
    if (calls.is_number() && calls.get<double>() > 0) trace[name] = calls.get<double>();
  }
  return trace;
}

double calls_of(const Trace& trace) {
  double sum = 0;
  for (const auto& [name, calls] : trace) sum += calls;
  return sum;
}

/// How much of `whole`, which is not empty, is in `part`: 1 where all of it is.
double covered(const Trace& part, const Trace& whole) {
  double sum = 0;
  for (const auto& [name, calls] : whole) {
    if (const auto found = part.find(name); found != part.end())
      sum += std::min(calls, found->second);
  }
  return sum / calls_of(whole);
}

/// "aten::mm (2), aten::relu and 3 more"
std::string words_of(const Trace& trace) {
  constexpr std::size_t kMost = 4;
  std::string text;
  std::size_t told = 0;
  for (const auto& [name, calls] : trace) {
    if (told == kMost) return text + " " + and_more(trace.size() - kMost);
    text += (told++ == 0 ? "" : ", ") + name + (calls > 1 ? fmt::format(" ({})", calls) : "");
  }
  return text;
}

}  // namespace

bool past_recompile_limit(const Json& proof) { return truthy(proof, "recompile_limit"); }

bool went_through_aot(const Json& proof) { return truthy(proof, "through_aot"); }

std::string unsaid_execution(const Json& proof) {
  const auto unsaid = proof.is_object() ? proof.find("unsaid") : proof.end();
  return unsaid != proof.end() && unsaid->is_string() ? unsaid->get<std::string>() : "";
}

bool knew_inputs(const Json& proof) { return truthy(proof, "inputs_known"); }

bool asked_backend(const Json& proof) {
  const auto backend = proof.is_object() ? proof.find("backend") : proof.end();
  return backend == proof.end() || count_of(*backend, "called") != 0;
}

bool backend_raised(const Json& proof) {
  const auto backend = proof.is_object() ? proof.find("backend") : proof.end();
  return backend != proof.end() && count_of(*backend, "raised").value_or(0) > 0;
}

std::string raised_without_backend(const Json& proof) {
  const auto control = proof.is_object() ? proof.find("control") : proof.end();
  return control != proof.end() && control->is_string() ? control->get<std::string>() : "";
}

Compilation compilation_of(const Json& proof) {
  if (!proof.is_object() || past_recompile_limit(proof)) return Compilation::missing;
  // The compiler read the program to its end, and there was nothing to hand over.  No graphs and no
  // operators alone may as well mean that it never looked.
  const auto breaks = proof.find("breaks");
  const bool whole = breaks == proof.end() || breaks->empty();
  if (count_of(proof, "operators") == 0 && count_of(proof, "frames").value_or(0) > 0 &&
      count_of(proof, "frames_skipped").value_or(0) == 0 && whole) {
    return Compilation::vacuous;
  }
  return count_of(proof, "graphs").value_or(0) > 0 ? Compilation::given : Compilation::missing;
}

ExecutedBy executed_by(const Json& proof, bool by_lockstep) {
  ExecutedBy execution;
  if (!proof.is_object()) return execution;
  static const Json kNone = Json::object();
  const auto found = proof.find("traces");
  const Json& traces = found != proof.end() && found->is_object() ? *found : kNone;
  const std::optional<Trace> eager = trace_of(traces, "eager");
  execution.idle = eager && eager->empty();
  if (const auto how = proof.find("execution"); how != proof.end() && how->is_string())
    execution.how = find_witness(how->get_ref<const std::string&>());
  if (execution.how == Witness::observed && !by_lockstep) execution.how = Witness::stated;

  const Trace foreign = trace_of(proof, "foreign").value_or(Trace());
  if (!foreign.empty() && !execution.idle) {
    if (eager)
      execution.foreign_fraction = calls_of(foreign) / (calls_of(foreign) + calls_of(*eager));
    for (const auto& [name, unused] : traces.items()) {
      const std::optional<Trace> trace = trace_of(traces, name);
      if (!trace || trace->empty()) continue;
      const double fraction = covered(foreign, *trace);
      execution.foreign_fraction = std::max(execution.foreign_fraction, fraction);
      if (fraction == 1 && execution.fell_back.empty()) {
        execution.fell_back =
            fmt::format("others executed all of it, as {} does: {}", name, words_of(foreign));
      }
    }
  }
  if (const auto permitted = trace_of(proof, "permitted"); permitted && eager && !eager->empty())
    execution.permitted_fraction = covered(*permitted, *eager);
  if (const auto changed = proof.find("changed"); changed != proof.end() && changed->is_array() &&
                                                  !changed->empty() &&
                                                  changed->front().is_string()) {
    execution.foreign_fraction = 1;
    execution.fell_back =
        fmt::format("nobody can see who executed it: it put something else in the place of {}",
                    changed->front().get<std::string>());
  }
  return execution;
}

}  // namespace lockstep
