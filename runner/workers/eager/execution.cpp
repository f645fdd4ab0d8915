#include "workers/eager/execution.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "program/program_json.h"
#include "workers/eager/autograd.h"
#include "workers/eager/context.h"
#include "workers/eager/errors.h"
#include "workers/eager/names.h"
#include "workers/eager/observe.h"
#include "workers/eager/package.h"
#include "workers/eager/program.h"
#include "workers/eager/state.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seeds the CPU's generator and the device's; no other, for asking for one initialises its device.
void seed_generators(std::uint64_t seed, c10::Device device) {
  const auto set = [&](c10::Device where) {
    at::Generator generator = at::globalContext().defaultGenerator(where);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_current_seed(seed);
  };
  set(c10::kCPU);
  if (device != c10::kCPU) set(device);
}

void synchronize(c10::Device device) {
  if (device.type() == c10::kCPU) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.has_index() ? device.index() : guard.getDevice().index());
}

/// The values of those names.  Those that a gold does not have are noted in `lost`, by `group`,
/// with the reason.
NamedValues select(const Interpreter& interpreter, const std::vector<std::string>& names,
                   const char* group, ordered_json& lost) {
  NamedValues values;
  for (const std::string& name : names) {
    if (const std::string reason = interpreter.lost(name); !reason.empty()) {
      lost[group][name] = reason;
    } else {
      values.emplace_back(name, lookup(interpreter.scope(), name));
    }
  }
  return values;
}

/// What a call returns, by the names of outputs; what a gold does not have is noted in `lost`.
NamedValues returned(const Interpreter& interpreter, const Program& program, ordered_json& lost) {
  NamedValues values;
  const std::vector<std::string> names = output_names(program);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* ref = std::get_if<Ref>(&program.outputs[i].is);
    const std::string reason = ref == nullptr ? "" : interpreter.lost(ref->name);
    if (!reason.empty()) {
      lost["outputs"][names[i]] = reason;
    } else if (interpreter.scope().contains(names[i])) {  // of a package every one
      values.emplace_back(names[i], lookup(interpreter.scope(), names[i]));
    } else {
      values.emplace_back(names[i], to_ivalue(program.outputs[i], interpreter.scope()));
    }
  }
  return values;
}

/// Where a gold's outputs come from, where that is known.
ordered_json origins(const Interpreter& interpreter, const NamedValues& outputs) {
  ordered_json from = ordered_json::object();
  for (const auto& [name, value] : outputs) {
    const auto origin = interpreter.origin(value_of_output(name));
    if (origin && !origin->by.empty()) from[name] = {{"by", origin->by}, {"ulp", origin->ulp}};
  }
  return from;
}

/// Which of plain eager's outputs are the bits of floats, and of which.
ordered_json bits(const Interpreter& interpreter, const NamedValues& outputs) {
  ordered_json of = ordered_json::object();
  for (const auto& [name, value] : outputs) {
    if (const auto dtype = interpreter.bits_of(value_of_output(name)))
      of[name] = dtype_name(*dtype);
  }
  return of;
}

/// Why a gold has no backward: what it begins with is lost; empty: it has.
std::string lost_backward(const Interpreter& interpreter, const std::optional<Backward>& backward) {
  if (!backward) return "";
  std::vector<std::string> names = backward->of;
  if (backward->with) names.insert(names.end(), backward->with->begin(), backward->with->end());
  for (const std::string& name : names) {
    if (std::string reason = interpreter.lost(name); !reason.empty()) return reason;
  }
  return "";
}

NamedValues gradients(const NamedValues& inputs) {
  NamedValues grads;
  for (const auto& [name, value] : inputs) {
    if (!value.isTensor() || !value.toTensor().requires_grad()) continue;
    const at::Tensor& input = value.toTensor();
    // Asking a non-leaf for its gradient warns; an input mutated in place has become one.
    grads.emplace_back(name, input.is_leaf() ? input.grad() : at::Tensor());
  }
  return grads;
}

/// What a call has to show.
struct Results {
  NamedValues outputs, inputs, grads;
  ordered_json lost = ordered_json::object();  ///< of a gold
};

Results results_of(const Interpreter& interpreter, const Program& program) {
  Results results;
  results.inputs = select(interpreter, program.inputs, "inputs", results.lost);
  results.outputs = returned(interpreter, program, results.lost);
  if (!program.backward) return results;
  if (const std::string reason = lost_backward(interpreter, program.backward); !reason.empty()) {
    for (const std::string& name : program.inputs) results.lost["grads"][name] = reason;
  } else {
    results.grads = gradients(results.inputs);
  }
  return results;
}

/// What of the program's context stays in force for the backward after the call.
Context backward_context(const Context& context) {
  Context kept;
  kept.deterministic_algorithms = context.deterministic_algorithms;
  kept.default_dtype = context.default_dtype;
  return kept;
}

/// Lets a new thread do it, and waits for its end; what is raised there passes through.
void in_another_thread(const std::function<void()>& function) {
  std::async(std::launch::async, [&] {
    // As autograd's threads do: each thread has an OpenMP of its own, else of all cores.
    at::init_num_threads();
    function();
  }).get();
}

/// What a call is executed under, within the program's context.
Context context_of(const json& call) {
  if (!call.contains("context")) return {};
  auto context = context_from_json(Json(call.at("context")));
  if (context) return std::move(*context);
  if (context.error().unknown) throw Unsupported(context.error().message);
  throw Malformed("calls.context " + to_string(context.error()));
}

class Execution {
 public:
  Execution(const json& request, const std::filesystem::path& folder, const StageListener& on_stage,
            const DigestLibraries& digests)
      : request_(request),
        files_(parse_storages(request.at("storages"))),
        observer_(folder, HeldStorages(request.value("held", json()), digests)),
        on_stage_(on_stage) {}

  ordered_json observe();

 private:
  void parse();
  void repeat();
  /// Adds the calls behind one that raised, up to another that does.
  void go_on();
  void read_again();
  /// Executes a call and adds what is described of it to `calls`.
  void call(const json& given, c10::Device device, Mode mode, int sample, ordered_json& calls);
  void execute(Interpreter& interpreter, const Context& context, ordered_json& calls);
  /// Notes what plain eager executed, also before it raised.
  void note_uses(const Interpreter& interpreter);

  const json& request_;
  Program program_;
  std::optional<Package> package_;  ///< that is executed in the place of the program
  Json literals_ = Json::array();   ///< views of its literal tensors
  std::vector<StorageFile> files_;
  Observer observer_;
  Memory memory_;
  const StageListener& on_stage_;
  std::size_t call_ = 0;                    ///< which one is under way, of the program's
  std::uint64_t seed_ = 0;                  ///< its seed
  std::shared_ptr<const Carried> carried_;  ///< what the call before it left for its inputs
  ordered_json runs_ = ordered_json::array();
  ordered_json after_error_;
  ordered_json uses_ = ordered_json::array();
  double run_seconds_ = 0;
  double write_seconds_ = 0;
};

/// The steps and what follows them; what is raised passes through.
void Execution::execute(Interpreter& interpreter, const Context& context, ordered_json& calls) {
  if (package_) return interpreter.take(package_->run(interpreter.scope()));
  interpreter.run(program_.steps, context);
  if (!program_.backward || !lost_backward(interpreter, program_.backward).empty()) return;
  const Results before = results_of(interpreter, program_);
  const ContextGuard guard(backward_context(context));
  try {
    backward(*program_.backward, interpreter.scope(), program_.backward->retain_graph);
    if (program_.backward->twice) backward(*program_.backward, interpreter.scope(), false);
  } catch (const std::exception&) {
    try {
      calls.push_back(observer_.call(before.outputs, before.inputs, {}));
    } catch (const Unsupported&) {  // the error of the backward is what counts
    } catch (const c10::Error&) {
    }
    throw;
  }
}

void Execution::note_uses(const Interpreter& interpreter) {
  for (const std::string& use : interpreter.uses()) {
    if (std::find(uses_.begin(), uses_.end(), use) == uses_.end()) uses_.push_back(use);
  }
}

void Execution::call(const json& given, c10::Device device, Mode mode, int sample,
                     ordered_json& calls) {
  on_stage_("run");
  const auto start = Clock::now();
  seed_generators(seed_, device);
  Interpreter interpreter({files_, literals_, device}, mode, given.at("inputs"), sample, carried_);
  const Context context = joined(program_.context, context_of(given));
  ordered_json unused;
  const Versions versions(select(interpreter, program_.inputs, "inputs", unused));
  const auto make = [&] {
    execute(interpreter, context, calls);
    synchronize(device);
  };
  try {
    if (context.thread)
      in_another_thread(make);
    else
      make();
    note_uses(interpreter);
  } catch (const Malformed&) {
    throw;
  } catch (const Fault&) {
    throw;
  } catch (const Unsupported&) {
    throw;
  } catch (const std::exception&) {
    note_uses(interpreter);
    try {
      ordered_json lost;  // golds are made of programs that return
      const NamedValues left = select(interpreter, program_.inputs, "inputs", lost);
      after_error_ = {{"call", call_},
                      {"inputs", observer_.call({}, left, {})["inputs"]},
                      {"state", observe_state(device)}};
    } catch (const std::exception&) {  // the error of the program is what counts
    }
    throw;
  }
  carried_ = interpreter.carry(program_.carry);
  ordered_json state = observe_state(device);
  // A package computes without gradients, and past what counts.
  if (!package_) state["versions"] = versions.counted();
  run_seconds_ += seconds_since(start);

  on_stage_("write");
  const auto write_start = Clock::now();
  Results results = results_of(interpreter, program_);
  calls.push_back(or_unsupported("the results cannot be read", [&] {
    return observer_.call(results.outputs, results.inputs, results.grads);
  }));
  memory_.note(results.inputs, results.outputs);
  calls.back()["state"] = std::move(state);
  if (!results.lost.empty()) calls.back()["lost"] = std::move(results.lost);
  if (ordered_json from = origins(interpreter, results.outputs); !from.empty()) {
    calls.back()["from"]["outputs"] = std::move(from);
  }
  if (ordered_json of = bits(interpreter, results.outputs); !of.empty())
    calls.back()["bits_of"]["outputs"] = std::move(of);
  write_seconds_ += seconds_since(write_start);
}

void Execution::parse() {
  auto program = program_from_json(Json(request_.at("program")), literals_);
  if (program) {
    program_ = std::move(*program);
    return;
  }
  const ProgramFault& fault = program.error();
  // Ignoring what is not known would execute another program.
  if (fault.unknown) throw Unsupported(fault.message);
  throw Malformed("program " + to_string(fault));
}

void Execution::repeat() {
  const c10::Device device = parse_device(request_.value("device", "cpu"));
  if (!c10::impl::hasDeviceGuardImpl(device.type())) throw Unsupported("device " + device.str());
  const std::string asked = request_.value("mode", "plain");
  const Mode mode = asked == kPackageMode ? kPlain : parse_mode(asked);
  if (asked == kPackageMode) package_.emplace(request_.value("before", ""), program_, device);
  const int repetitions = request_.value("repeat", 1);
  if (repetitions < 1) throw Malformed("`repeat` must be at least 1");
  const bool reseeds = request_.value("reseed", false);
  const json& given = request_.at("calls");
  const int samples = is_noise(mode) ? kNoiseSamples : 1;  // of each repetition
  if (repetitions * samples * given.size() > 1) observer_.keep();
  for (int i = 0; i < repetitions * samples; ++i) {
    seed_ = request_.value("seed", std::uint64_t{0});
    if (reseeds && repetitions > 1 && i / samples == repetitions - 1) seed_ += given.size();
    runs_.push_back({{"calls", ordered_json::array()}});
    for (call_ = 0; call_ < given.size(); ++call_, ++seed_) {
      if (call_ == 0) carried_ = nullptr;
      call(given[call_], device, mode, i % samples, runs_.back()["calls"]);
    }
  }
}

/// An assertion on a device leaves no calls that could be made, and without what a call hands on
/// the next one is another.
void Execution::go_on() {
  const json& given = request_.at("calls");
  const c10::Device device = parse_device(request_.value("device", "cpu"));
  if (after_error_.is_null() || runs_.size() != 1 || device != c10::kCPU || package_ ||
      !program_.carry.empty() || request_.value("mode", "plain") != std::string("plain"))
    return;
  ordered_json after = std::move(after_error_);
  ordered_json calls = ordered_json::array();
  try {
    for (++call_, ++seed_; call_ < given.size(); ++call_, ++seed_)
      call(given[call_], device, kPlain, 0, calls);
  } catch (const Fault&) {
    throw;
  } catch (const std::exception&) {  // the first error is what counts
  }
  after["calls"] = std::move(calls);
  after_error_ = std::move(after);
}

/// Reads what calls returned once more, now that all are done; an error of that is nobody's.
void Execution::read_again() {
  try {
    observer_.read_again(runs_);
  } catch (const c10::Error&) {
  }
}

ordered_json Execution::observe() {
  ordered_json observation;
  ordered_json error, reason;
  std::string outcome = "returned";
  try {
    parse();
    repeat();
  } catch (const Malformed&) {
    throw;
  } catch (const Fault&) {
    throw;
  } catch (const json::exception& missing) {
    throw Malformed(missing.what());
  } catch (const Unsupported& lacking) {
    outcome = "unsupported";
    reason = lacking.what();
  } catch (const Unloadable& raised) {
    outcome = "raised";
    error = describe_error(raised);
    error["kind"] = "internal";
  } catch (const std::exception& raised) {
    outcome = "raised";
    error = describe_error(raised);
    go_on();
  }
  read_again();
  if (outcome == "returned") memory_.settle(runs_);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  observation["outcome"] = outcome;
  observation["runs"] = std::move(runs_);  // After an error: what was finished before it.
  if (!uses_.empty()) observation["uses"] = std::move(uses_);
  observation["storages"] = observer_.storages();
  observation["reference"] = nullptr;
  observation["error"] = error;
  if (outcome == "raised" && !after_error_.is_null())
    observation["after_error"] = std::move(after_error_);
  observation["reason"] = reason;
  observation["stage"] = outcome == "returned" ? "write" : "run";
  if (package_) observation["proof"] = package_->proof();
  observation["phases"] = {{"run", run_seconds_}, {"write", write_seconds_}};
  observation["peak_memory_bytes"] = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  return observation;
}

}  // namespace

ordered_json execute(const json& request, const std::filesystem::path& folder,
                     const StageListener& on_stage, const DigestLibraries& digests) {
  try {
    return Execution(request, folder, on_stage, digests).observe();
  } catch (const json::exception& missing) {
    throw Malformed(missing.what());
  }
}

}  // namespace lockstep::eager
