#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/json.h"
#include "base/value_files.h"
#include "policies/policy.h"
#include "policies/rules.h"
#include "program/program.h"
#include "verdict/kinds.h"
#include "wire/tensor.h"

namespace lockstep {

/// One element of a tensor as a case file says it; `bits` is right-aligned, exactly as stored.
struct ElementBits {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  ///< imaginary part of complex128, which has 16 bytes
};

/// Literal elements, in storage order.
struct LiteralFill {
  std::vector<ElementBits> elements;
};

/// Elements made by a rule from their place k in storage order; seeded ones by a counter-based
/// generator, so that they are the same bytes on every machine.
struct RuleFill {
  const struct FillRule* rule = nullptr;  ///< of the table in fill_rules.cpp; never null
  std::uint64_t seed = 0;
  /// Parameters by name with defaults filled in.
  std::vector<std::pair<std::string, double>> parameters;

  double parameter(std::string_view name) const;
};

/// Elements that lie in a file beside the case, in storage order: their bytes, little-endian.
struct FileFill {
  ValuePlace place;                          ///< of the case
  std::string name;                          ///< in the folder kValuesFolder there
  std::shared_ptr<const std::string> bytes;  ///< never null
};

/// A tensor that the runner makes.
struct TensorSpec {
  const Dtype* dtype = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements
  std::int64_t offset = 0;            ///< elements
  std::int64_t storage_elements = 0;
  /// The input whose storage this one shares; its own fill is then unused.
  std::string view_of;
  std::variant<LiteralFill, RuleFill, FileFill> fill;
  /// Beside a rule: elements that keep a value of their own, by their places in the storage.
  std::vector<std::pair<std::uint64_t, ElementBits>> except = {};
  bool requires_grad = false;
  bool conj = false;
  bool neg = false;
  bool constant = false;  ///< an input that the program closes over (Program::constants)
  /// torch's zero tensor: zeros without memory.  Its storage here is what it reads as.
  bool zero_tensor = false;
  /// Of the quantized dtypes, and only of these.
  std::optional<Quantizer> quantizer;
  /// What finite real and complex elements are multiplied by (fresh.h).
  double scale = 1;
};

/// The strides, in elements, of a dense tensor in row-major order.
std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& shape);

/// More than any machine has, small enough that no product overflows.
constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 46;
/// What a case or a level may ask for: more than any operator of torch divides its work among.
constexpr int kMostThreads = 64;

/// Elements that a tensor needs in its storage, from the first; nothing when it is more than a
/// machine can have.
std::optional<std::int64_t> reach_of(const TensorSpec& spec);

/// An input: a tensor, or a scalar.
struct InputSpec {
  std::string name;
  std::variant<TensorSpec, Value> value;
};

/// One call of the program.
struct CallSpec {
  std::vector<InputSpec> inputs;
  Context context = {};  ///< of this call, within the program's
};

/// What `prepare` runs once, eagerly, to make inputs as a report did.
struct PrepareSpec {
  std::uint64_t seed = 0;
  Program program;                         ///< without inputs; its outputs are inputs of the case
  std::vector<TensorSpec> literals;        ///< of the program's literal tensors
  std::vector<std::string> requires_grad;  ///< outputs that require a gradient as inputs
};

/// "y on inductor: close".
struct CompareRule {
  std::string output;  ///< as a case spells it: "y", "x.grad", "x" for a mutated input
  std::string path;    ///< glob
  Policy policy;
};

/// A relation that a case asks for (relations.h).
struct RelationSpec {
  RelationKind kind = RelationKind::batch;
  /// Of `batch` and `rows`: the inputs that have rows, and the dimension that they lie along.
  std::vector<std::pair<std::string, std::int64_t>> inputs = {};
  std::vector<std::int64_t> sizes = {};  ///< of `batch`: how many rows come alone
  std::string layout = {};  ///< of `layout`: "shifted", "transposed" or "channels_last"
  /// Outputs, and the dimension along which they have the rows; empty: all, along the first.
  std::vector<std::pair<std::string, std::int64_t>> of = {};
};

/// What one JSON file declares, with its matrix already substituted.
struct Case {
  std::string id;    ///< "bugs/185337-half-round-trip"
  std::string file;  ///< relative to the suite
  bool own = false;  ///< a file of the user's, not of the suite
  std::string title;
  std::vector<std::string> links;
  std::vector<std::string> tags;
  std::string requires_torch;  ///< ">=2.14", or empty
  /// What of Lockstep it needs and this one is not, as `>=0.9`: nothing else of it is known then
  /// but the title and tags.  Empty: it can be read.
  std::string newer_lockstep;
  /// Why nobody has seen it do what it says; empty: somebody has.
  std::string unverified;
  std::vector<std::string> only_paths;    ///< globs; empty: all
  std::vector<std::string> only_devices;  ///< globs; empty: all
  std::uint64_t seed = 0;
  int threads = 0;  ///< intra-op threads that it asks for; 0: those of the run
  /// It may draw random numbers: an operator that torch tags so, or a public function, of which
  /// nobody can tell.
  bool random = false;
  /// Where eager does not return there is nothing to ask: the case is unsupported there.
  bool eager_must_return = false;
  /// Element k of every output depends on element k of the inputs alone: verdicts then show the
  /// inputs of what differs, and how far both sides are from the truth (verdict.h, Accuracy).
  bool pointwise = false;
  /// May be compiled in one graph with other such cases (plan/share.h).
  bool share = false;

  std::vector<CallSpec> calls;
  Program program;
  std::vector<TensorSpec> literals;  ///< of the program's literal tensors
  std::optional<PrepareSpec> prepare;
  std::vector<RelationSpec> relations;

  std::vector<CompareRule> compare;
  StrideRule strides = StrideRule::significant;
  std::optional<RaisesRule> raises;

  /// For filters: "aten::add.Tensor" or "torch.nn.functional.relu", each once, in order of use.
  std::vector<std::string> operators;
  /// An operator, overload or dtype that the registry at hand lacks: the case is unsupported there.
  std::string lacking;
};

/// Whether a version such as "2.13.0+cpu" satisfies a range such as ">=2.12,<2.14"; only the
/// numbers before '+' count.  The range has been checked.
bool version_matches(std::string_view version, std::string_view range);

/// What a case file needs of Lockstep where this one (`have`) is another: the range that it
/// `requires`.  Empty: it can be read.  Whether the range is well-formed, decoding says.
std::string newer_lockstep(const Json& root, std::string_view have = LOCKSTEP_VERSION);

/// Whether a range is written as version_matches reads it.
bool valid_range(std::string_view range);

}  // namespace lockstep
