#include "wire/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bounded_json.h"
#include "base/enum_table.h"
#include "base/text.h"
#include "wire/witness.h"

namespace lockstep {
namespace {

using wire::broken;
using wire::JsonAt;
using wire::Values;

/// Generous: a view takes about 20 values and 300 bytes.
constexpr JsonBounds kObservationBounds = {.bytes = 16 << 20, .depth = 32, .values = 1 << 20};

/// Calls `read` with "outputs/y" and its node for each value that a gold remarks on.
template <class Read>
void read_remarks(const JsonAt& remarks, Read read) {
  for (const char* group : {"outputs", "inputs", "grads"}) {
    if (!remarks.object().has(group)) continue;
    const JsonAt named = remarks.at(group).object();
    for (const auto& [name, json] : named.json.items()) {
      read(fmt::format("{}/{}", group, name), JsonAt{json, child_pointer(named.where, name)});
    }
  }
}

/// Names and what they are at, as a person reads it.
std::map<std::string, std::string> read_facts(const JsonAt& facts, bool text_only) {
  constexpr std::size_t kMost = 64;
  std::map<std::string, std::string> read;
  if (facts.object().json.size() > kMost) facts.wrong("at most 64 members");
  for (const auto& [name, json] : facts.json.items()) {
    const JsonAt fact{json, child_pointer(facts.where, name)};
    if (json.is_string()) {
      read[name] = fact.string();
    } else if (!text_only && json.is_boolean()) {
      read[name] = json.get<bool>() ? "true" : "false";
    } else if (!text_only && json.is_number_integer()) {
      read[name] = std::to_string(fact.integer());
    } else {
      fact.wrong(text_only ? "a string" : "a string, a boolean or an integer");
    }
  }
  return read;
}

/// Names of inputs and outputs, as many as an object of these may have.
std::vector<std::string> read_names(const JsonAt& list) {
  constexpr std::size_t kMost = 8192;
  if (list.array() > kMost) list.wrong("at most 8192 names");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list.array(); ++i) names.push_back(list.at(i).string());
  return names;
}

/// What a call warned of.
std::vector<std::string> read_warnings(const JsonAt& list) {
  constexpr std::size_t kMost = 64;
  if (list.array() > kMost) list.wrong("at most 64 warnings");
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < list.array(); ++i)
    warnings.push_back(one_line(list.at(i).bounded_text(), 240));
  return warnings;
}

ProcessState read_state(const JsonAt& state) {
  ProcessState read;
  state.object();
  if (state.has("generators")) read.generators = read_facts(state.at("generators"), true);
  if (state.has("modes")) read.modes = read_facts(state.at("modes"), false);
  if (state.has("versions")) read.versions = read_names(state.at("versions"));
  if (state.has("kept")) read.kept = read_names(state.at("kept"));
  return read;
}

/// The most operators that are read of a worker's list of executed ones.
constexpr std::size_t kMostUses = 256;

/// Values that a call has read once more; `first` has all of them.
NamedValues read_again(const JsonAt& again, const char* group, const NamedValues& first,
                       Values& values) {
  if (!again.object().has(group)) return {};
  const JsonAt members = again.at(group).object();
  for (const auto& [name, json] : members.json.items()) {
    const bool held = std::any_of(first.begin(), first.end(), [&name = name](const auto& value) {
      return value.first == name;
    });
    if (!held) JsonAt{json, child_pointer(members.where, name)}.wrong("a name that the call has");
  }
  return values.read(members);
}

CallResult read_call(const JsonAt& call, Values& values) {
  CallResult result;
  result.outputs = values.read(call.object().at("outputs"));
  if (call.has("inputs")) result.inputs = values.read(call.at("inputs"));
  if (call.has("grads")) result.grads = values.read(call.at("grads"));
  if (call.has("lost")) {
    read_remarks(call.at("lost"), [&](const std::string& of, const JsonAt& reason) {
      result.lost[of] = reason.bounded_text();
    });
  }
  if (call.has("from")) {
    read_remarks(call.at("from"), [&](const std::string& of, const JsonAt& origin) {
      const double ulp = origin.object().at("ulp").number();
      if (!(ulp >= 0)) origin.at("ulp").wrong("a number that is not negative");
      result.from[of] = {origin.at("by").string(), ulp};
    });
  }
  if (call.has("bits_of")) {
    read_remarks(call.at("bits_of"), [&](const std::string& of, const JsonAt& name) {
      result.bits_of[of] = find_dtype(name.string());
      if (result.bits_of[of] == nullptr || !result.bits_of[of]->is_floating())
        name.wrong("a floating dtype");
    });
  }
  if (call.has("warnings")) result.warnings = read_warnings(call.at("warnings"));
  if (call.has("state")) result.state = read_state(call.at("state"));
  if (call.has("again")) {
    const JsonAt again = call.at("again");
    result.outputs_again = read_again(again, "outputs", result.outputs, values);
    result.grads_again = read_again(again, "grads", result.grads, values);
  }
  return result;
}

Repetition read_calls_of(const JsonAt& calls, Values& values) {
  Repetition repetition;
  for (std::size_t c = 0; c < calls.array(); ++c)
    repetition.push_back(read_call(calls.at(c), values));
  return repetition;
}

std::vector<Repetition> read_runs(const JsonAt& runs, Values& values) {
  std::vector<Repetition> repetitions;
  for (std::size_t r = 0; r < runs.array(); ++r)
    repetitions.push_back(read_calls_of(runs.at(r).object().at("calls"), values));
  return repetitions;
}

RaisedError read_error(const JsonAt& node) {
  RaisedError error;
  node.object();
  if (node.has("stage")) error.stage = node.at("stage").string();
  error.class_name = node.at("class").string();
  error.message = node.at("message").bounded_text();
  if (node.has("wrapped")) {
    const JsonAt wrapped = node.at("wrapped");
    for (std::size_t i = 0; i < wrapped.array(); ++i) {
      error.wrapped.push_back(wrapped.at(i).string());
    }
  }
  if (node.has("detail")) error.detail = node.at("detail").bounded_text();
  if (node.has("kind")) {
    const JsonAt kind = node.at("kind");
    const auto found = find_error_kind(kind.string());
    if (!found) kind.wrong(enumerate(error_kind_names(), "or"));
    error.kind = *found;
  }
  return error;
}

struct OutcomeRow {
  Outcome outcome;
  std::string_view name;
  bool said;  ///< by a worker; the others are what the runner sees of one
};
constexpr std::array kOutcomes = {OutcomeRow{Outcome::returned, "returned", true},
                                  OutcomeRow{Outcome::raised, "raised", true},
                                  OutcomeRow{Outcome::unsupported, "unsupported", true},
                                  OutcomeRow{Outcome::crashed, "crashed", false},
                                  OutcomeRow{Outcome::timed_out, "timed_out", false},
                                  OutcomeRow{Outcome::out_of_memory, "out_of_memory", false},
                                  OutcomeRow{Outcome::lost, "lost", false}};
static_assert(has_every_row(kOutcomes, &OutcomeRow::outcome));

void read_outcome(const JsonAt& root, Values& values, Observation& observation) {
  const OutcomeRow* row = find_named(kOutcomes, root.at("outcome").string());
  if (row == nullptr || !row->said) root.at("outcome").wrong("returned, raised or unsupported");
  observation.outcome = row->outcome;
  if (row->outcome == Outcome::returned) {
    if (observation.repetitions.empty() || observation.repetitions.front().empty()) {
      broken(root.where, "returned, but no call is recorded");
    }
  } else if (row->outcome == Outcome::raised) {
    observation.error = read_error(root.at("error"));
    if (root.has("after_error")) {
      const JsonAt after = root.at("after_error").object();
      AfterError& left = observation.after_error.emplace();
      if (after.has("call")) left.call = static_cast<std::size_t>(after.at("call").count());
      if (after.has("inputs")) left.inputs = values.read(after.at("inputs"));
      if (after.has("state")) left.state = read_state(after.at("state"));
      if (after.has("calls")) left.calls = read_calls_of(after.at("calls"), values);
    }
  } else {
    observation.reason = root.at("reason").bounded_text();
  }
}

/// Checks of a proof what the judge and readers of logs count on; the rest is anybody's.
void check_proof(const JsonAt& proof) {
  const auto check_trace = [](const JsonAt& trace) {
    for (const auto& [name, calls] : trace.object().json.items())
      JsonAt{calls, child_pointer(trace.where, name)}.count();
  };
  for (const char* key : {"executed", "foreign"}) {
    if (proof.has(key)) check_trace(proof.at(key));
  }
  if (proof.has("traces")) {
    const JsonAt traces = proof.at("traces").object();
    for (const auto& [name, trace] : traces.json.items())
      check_trace({trace, child_pointer(traces.where, name)});
  }
  if (proof.has("execution")) {
    if (!find_witness(proof.at("execution").string()))
      proof.at("execution").wrong(enumerate(witness_names(), "or"));
  }
  if (proof.has("through_aot")) proof.at("through_aot").boolean();
  if (!proof.has("remembered")) return;
  const JsonAt remembered = proof.at("remembered");
  for (std::size_t i = 0; i < remembered.array(); ++i) remembered.at(i).string();
}

Observation read_tree(const JsonAt& root, Values& values, bool outermost) {
  Observation observation;
  root.object();
  if (root.has("runs")) observation.repetitions = read_runs(root.at("runs"), values);
  if (root.has("reason")) observation.reason = root.at("reason").bounded_text();
  read_outcome(root, values, observation);
  if (root.has("stage")) observation.stage = root.at("stage").string();
  if (root.has("proof")) {
    observation.proof = root.at("proof").object().json;
    check_proof(root.at("proof"));
  }
  if (root.has("at_exit")) observation.at_exit = one_line(root.at("at_exit").bounded_text(), 240);
  if (root.has("lowered")) observation.lowered = root.at("lowered").object().json;
  if (root.has("phases")) {
    const JsonAt phases = root.at("phases").object();
    for (const auto& [name, json] : phases.json.items()) {
      observation.phases[name] = JsonAt{json, child_pointer(phases.where, name)}.number();
    }
  }
  if (root.has("peak_memory_bytes")) {
    observation.peak_memory_bytes = root.at("peak_memory_bytes").count();
  }
  if (root.has("uses")) {
    const JsonAt uses = root.at("uses");
    for (std::size_t i = 0; i < std::min(uses.array(), kMostUses); ++i)
      observation.uses.push_back(uses.at(i).bounded_text());
  }
  observation.storages = values.files();
  if (root.has("reference")) {
    if (!outermost) broken(root.where, "a reference inside a reference");
    observation.reference =
        std::make_shared<const Observation>(read_tree(root.at("reference"), values, false));
  }
  return observation;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)].name;
}

Result<Observation> read_observation(const std::filesystem::path& directory,
                                     const HeldStorages& held) {
  // A file that is too long is not even read to its end.
  const auto text = read_end_of_file(directory / "observation.json", kObservationBounds.bytes);
  if (!text) return wire::broken_error("observation", text.error().message);
  if (text->cut) {
    return wire::broken_error(
        "observation", fmt::format("it has more than {} bytes, which is more than an observation "
                                   "may have",
                                   grouped(kObservationBounds.bytes)));
  }
  return parse_observation(text->bytes, directory, held);
}

Result<Observation> parse_observation(std::string_view text, const std::filesystem::path& directory,
                                      const HeldStorages& held) {
  return wire::unless_broken("observation", [&] {
    const Result<Json> tree = parse_bounded_json(text, kObservationBounds);
    if (!tree) throw wire::Broken{tree.error().message};
    const JsonAt root{*tree, ""};
    root.object();
    static const Json none = Json::array();
    Values values(root.has("storages") ? root.at("storages") : JsonAt{none, "/storages"}, directory,
                  held);
    return read_tree(root, values, true);
  });
}

Result<Inputs> read_calls(const std::filesystem::path& directory, const Json& storages,
                          const Json& calls) {
  return wire::unless_broken("inputs", [&] {
    Values values({storages, "/storages"}, directory);
    Inputs inputs;
    const JsonAt list{calls, "/calls"};
    for (std::size_t i = 0; i < list.array(); ++i) {
      inputs.calls.push_back(values.read(list.at(i).object().at("inputs")));
    }
    inputs.storages = values.files();
    return inputs;
  });
}

}  // namespace lockstep
