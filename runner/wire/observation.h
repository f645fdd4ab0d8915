#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "wire/error_kind.h"
#include "wire/held.h"
#include "wire/values.h"

namespace lockstep {

/// How the execution of an instance on a path ended.
enum class Outcome {
  returned,
  raised,         ///< an exception: see Observation::error
  unsupported,    ///< the worker, device or torch lacks what the program needs: see
                  ///< Observation::reason
  crashed,        ///< killed by a signal, or exited without an observation
  timed_out,      ///< the runner killed it
  out_of_memory,  ///< the kernel or a memory limit ended it
  lost,           ///< the worker itself died, broke the protocol or wrote a broken observation
};

/// "returned", "raised" and so on.
std::string_view name_of(Outcome outcome);

/// The error of an execution, without the compiler's wrapping.
struct RaisedError {
  std::string stage;       ///< "eager", "trace", "lower", "compile", "run"
  std::string class_name;  ///< as Python names it: "RuntimeError", "torch._C._LinAlgError"
  std::string message;
  std::vector<std::string> wrapped;  ///< classes around it, outermost first
  ErrorKind kind = ErrorKind::error;
  /// What the message does not say: where the compiler was, what it pointed to; empty: nothing.
  std::string detail = {};

  bool operator==(const RaisedError&) const = default;
};

/// Where a gold has a value from, and how far from the truth it may be itself.
struct ValueOrigin {
  std::string by;  ///< "MPFR 4.2.0"
  double ulp = 0;  ///< greatest error, in units of the last place of float64
};

/// The state that a call left behind in its process; what is missing was not observed.
struct ProcessState {
  /// Device → a digest of the state of its random generator.
  std::map<std::string, std::string> generators;
  /// "grad" → "true", "default_dtype" → "float32", "threads" → "1".
  std::map<std::string, std::string> modes;
  /// The inputs of which autograd counts another version than before the call.
  std::optional<std::vector<std::string>> versions = {};
  /// The inputs and outputs whose memory is there when nobody should have it any more.
  std::optional<std::vector<std::string>> kept = {};
};

/// What one call of the program returned and left behind.
struct CallResult {
  NamedValues outputs;
  NamedValues inputs;  ///< as they were after the call
  NamedValues grads;
  /// Of a gold, by group and name ("outputs/y", "grads/x"): why it does not have a value, and where
  /// it has one from, if that is held.
  std::map<std::string, std::string> lost = {};
  std::map<std::string, ValueOrigin> from = {};
  /// Of plain eager: which integer values are bits of floats, and of which dtype.
  std::map<std::string, const Dtype*> bits_of = {};
  ProcessState state = {};
  /// What it warned of, where somebody listened and nothing was compiled in it.
  std::optional<std::vector<std::string>> warnings = {};
  /// Those of the outputs and gradients that read otherwise once all calls were done; None in the
  /// place of a tensor: its memory is gone.
  NamedValues outputs_again = {}, grads_again = {};
};

/// One execution of all calls, on fresh inputs.
using Repetition = std::vector<CallResult>;

/// What a call left behind that raised.
struct AfterError {
  std::size_t call = 0;  ///< which of the program's, from 0
  NamedValues inputs;
  ProcessState state;
  /// The calls behind it, up to one that raises, too; nothing: they were not made.
  std::optional<Repetition> calls = {};
};

/// What a path did with an instance.
struct Observation {
  Outcome outcome = Outcome::lost;
  std::vector<Repetition> repetitions;
  std::optional<RaisedError> error;
  std::optional<AfterError> after_error;  ///< of what raised, where it was observed
  /// Why it is unsupported, crashed, lost: one line.
  std::string reason;
  /// The last stage that was reached.
  std::string stage;
  /// Signal that ended it, 0 if none.
  int signal = 0;
  /// Of plain eager: the operators that it called and that returned, each "aten::mm.default
  /// float32:contiguous float32:permuted" (docs/design/protocol.md).
  std::vector<std::string> uses;
  /// Of an execution that lowers: the program with operators in the place of public functions, as
  /// the worker gave it; null of any other.
  nlohmann::ordered_json lowered;
  /// Evidence of compilation as the worker gave it: null where nothing was compiled; `graphs` is
  /// the one required key.
  nlohmann::ordered_json proof;
  /// Seconds by stage.
  std::map<std::string, double> phases;
  std::int64_t peak_memory_bytes = 0;
  /// How the path's process ended when it had handed everything over, where that is not as it
  /// should; empty: it is, or nobody looked.
  std::string at_exit;
  /// End of what it wrote to standard error.
  std::string stderr_tail;
  /// The same program run eagerly in the same process before compiling.
  std::shared_ptr<const Observation> reference;
  /// Bytes that the views point into.
  std::vector<std::shared_ptr<const FileCopy>> storages;
};

/// Reads `directory/observation.json` and its storages (see design/protocol.md).  Everything that
/// the file says is checked: a view that leaves its storage, an unknown dtype or a missing file is
/// an error, never undefined behaviour.  So is a view that overlaps itself and has more than 2^31
/// elements, expanded dimensions counted once: as many as the storage has, or expanded ones, may be
/// more.  What anybody does to the files afterwards changes nothing.
/// `held`: the storages that its worker was told of.
Result<Observation> read_observation(const std::filesystem::path& directory,
                                     const HeldStorages& held = {});

/// The same for the text of an observation, whose storages are in `directory`.
Result<Observation> parse_observation(std::string_view text, const std::filesystem::path& directory,
                                      const HeldStorages& held = {});

/// The inputs of each call, and the bytes that their views point into.
struct Inputs {
  std::vector<NamedValues> calls;
  std::vector<std::shared_ptr<const FileCopy>> storages;
};

/// Reads the `calls` of a `run` message (design/protocol.md), whose `storages` are plain names of
/// files in `directory`; checked like an observation.
Result<Inputs> read_calls(const std::filesystem::path& directory,
                          const nlohmann::ordered_json& storages,
                          const nlohmann::ordered_json& calls);

}  // namespace lockstep
