#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "program/program.h"
#include "workers/eager/gold.h"
#include "workers/eager/losses.h"
#include "workers/eager/observe.h"
#include "workers/eager/tensors.h"
#include "workers/eager/uses.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

/// Where the tensors of an execution come from.
struct Sources {
  const std::vector<StorageFile>& files;
  const Json& literals;  ///< views of the program's literal tensors, by their index
  c10::Device device;
};

/// What is known of a value's error in the gold `mpfr`.
struct Origin {
  std::string by;  ///< who computed it; empty: torch's float64 kernels, in any number of steps
  double ulp = 0;  ///< its greatest error in units of the last place of float64
};

/// What one call hands to the next, by the names of its inputs: fresh copies of values, and why a
/// gold lacks one.
struct Carried {
  std::map<std::string, c10::IValue> values;
  std::map<std::string, std::string> lost;
  std::map<std::string, Origin> origins;  ///< of the gold `mpfr`
  std::shared_ptr<const Carried> plain;   ///< of a gold: what its plain eager hands on
};

/// One execution of one call of a program: a scope of names and the steps that fill it.
class Interpreter {
 public:
  /// `inputs` maps names to views or scalar values; it outlives the interpreter.
  /// `sample` is the number of one of noise; `carried` is in the place of inputs, unless null.
  Interpreter(const Sources& sources, Mode mode, const nlohmann::json& inputs, int sample = 0,
              std::shared_ptr<const Carried> carried = nullptr);

  /// Executes the program's steps under its context.  What torch raises passes through.
  void run(const std::vector<Step>& steps, const Context& context);

  /// What the call leaves for the inputs of the next one, once it is over.
  std::shared_ptr<const Carried> carry(
      const std::vector<std::pair<std::string, std::string>>& names) const;

  /// Takes what somebody else computed of the inputs, by name, in the place of `run`.
  void take(const NamedValues& results);

  const Scope& scope() const { return scope_; }

  /// Of a gold: why it does not have the value of that name; empty: it has.
  std::string lost(const std::string& name) const { return losses_.reason_for(name, scope_); }

  /// Of plain eager: the floating dtype whose bits the integer value of that name holds.
  std::optional<c10::ScalarType> bits_of(const std::string& name) const;

  /// Of plain eager: the operators that returned.
  const std::vector<std::string>& uses() const { return uses_.texts(); }

  /// Of the gold `mpfr`: where the value of that name comes from.  Nothing of other modes.
  std::optional<Origin> origin(const std::string& name) const;

 private:
  friend class Applied;

  void build_inputs();
  /// Plain eager on the same inputs, each call's own.
  std::unique_ptr<Interpreter> plain_eager() const;
  /// Whether the input is handed over by the call before; then it is there, or lost.
  bool take_carried(const std::string& name, const nlohmann::json& given);
  void block(const std::vector<Step>& steps, const Context& context);
  void step(const Step& step);
  /// A step that takes sub-programs.
  void apply(const Step& step, const ApplyCall& call);
  /// Gives a value one more name.
  void name(const std::string& to, const Value& value);
  /// Whether a number is true.  A gold goes where plain eager goes: Unsupported where it would not.
  bool decide(const Value& value);
  /// A name that no program has.
  std::string fresh() { return "@" + std::to_string(++names_); }
  std::vector<c10::IValue> results_of(const Step& step, const PlainStep* plain);
  std::vector<c10::IValue> call(const OpCall& call, const PlainStep* plain);
  void bind(const std::vector<std::optional<std::string>>& names, std::vector<c10::IValue> results);
  void note_origin(const Step& step);
  /// `noted`: how many notes there were before the step.
  void note_bits(const Step& step, std::size_t noted);

  Sources sources_;
  Mode mode_;
  const nlohmann::json& inputs_;
  std::shared_ptr<const Carried> carried_;
  TensorSource tensors_;  ///< of inputs and literals: the same storage index is the same memory
  Scope scope_;
  Losses losses_;
  std::vector<c10::IValue> last_;  ///< results of the last step
  std::vector<PlainStep> notes_;   ///< plain: of every step that a gold asks for, in order
  /// Of a gold: plain eager, which says what random steps draw and whose bits are seen as others'.
  /// Stepwise, with noise or without, it is one step ahead and says the dtypes of results;
  /// otherwise it has run before, if the program has such steps.
  std::unique_ptr<Interpreter> plain_;
  std::size_t next_note_ = 0;
  std::vector<bool> decisions_;  ///< plain: in order
  std::size_t next_decision_ = 0;
  bool beside_gold_ = false;    ///< plain eager of a gold
  std::size_t names_ = 0;       ///< that were made up
  std::optional<Noise> noise_;  ///< of a sample
  bool writes_ = false;         ///< of a wide gold that asks plain eager: whether the program does
  std::map<std::string, c10::ScalarType> bits_of_;
  Uses uses_;
  std::map<std::string, Origin> origins_;  ///< of results; inputs and literals are as given
  /// Of the operator that was called last: what rounded it, if its operands were as given.
  std::string rounded_by_;
};

}  // namespace lockstep::eager
