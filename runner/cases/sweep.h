#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reader.h"
#include "cases/registry.h"

namespace lockstep {

/// A case over many operators: each that the rule takes, or each call of a list.
struct Sweep {
  /// The rule: overloads with this tag (empty: any; "!core": without it),
  std::string tag;
  std::vector<std::string> names;   ///< that these globs take, as ids name them (empty: all)
  std::vector<std::string> takes;   ///< with these parameters: "dim", "int dim", "!keepdim"
  std::vector<std::string> inputs;  ///< the tensors, in the order of the file
  /// What arguments get, by the name of the parameter or by its type.  Null: the sweep takes the
  /// overloads that need nothing given; an object: those that take something of it, and need no
  /// more.  Where it gives tensors (refers to inputs), it gives all of them.
  Json given;
  /// Instead of a rule: calls as the file lists them, ["sum.dim_IntList", "%x", [1], {"keepdim":
  /// true}]; of an instance the one.
  Json calls;
  /// The overload that an instance calls, such as "add.Scalar"; empty before one is chosen.
  std::string op;

  /// Whether `given` refers to inputs: each operator then takes those that it has use for.
  bool gives_tensors() const;
};

/// The sweep of a document that has the key `sweep`; nothing, and errors, when it is malformed.
/// What it demands of the file's other keys is the caller's affair, but for `inputs`.
std::optional<Sweep> decode_sweep(Reader& reader, const Node& root);

/// Adds an error where the tag is unknown to the registry, or the sweep takes no operator.
void check_sweep(Reader& reader, const Sweep& sweep, const Registry& registry);

/// Why none of the sweeps takes the overload, or empty where one does.  By rule, so that a new
/// torch brings its operators by itself.
std::string unswept_reason(std::span<const Sweep> sweeps, const Operator& op,
                           const Overload& overload);

/// Why no rule takes the overload, whatever a file says, or empty: what writes to an argument, is
/// internal, draws random numbers or returns no tensors is for cases that are written for it.
std::string unbound_reason(const Operator& op, const Overload& overload);

/// Whether it has the tag of a rule; of "!core" whether it has not, of "" always.
bool has_wanted_tag(const Overload& overload, std::string_view tag);

/// The overloads that the rule of a sweep takes, as ids name them: "sin", "add.Scalar"; sorted.
std::vector<std::string> swept_operators(const Sweep& sweep, const Registry& registry);

/// How an id names a call of a list: "sum.dim_IntList(x,[1],keepdim=true)".
std::string call_text(const Json& call);

/// How ids name an overload: "sin" for the default one, "add.Scalar".
std::string short_name(const Operator& op, const Overload& overload);

/// The `steps` and `outputs` of an instance: one call of `overload`, whose results are y, y1, y2
/// ... Without an overload a call that stands in for it, for checks of structure.  Where the file
/// has steps of its own (`around`, its steps and outputs), the call is the one with the op "$op".
Json swept_program(const Sweep& sweep, const Overload* overload, const Json& around = nullptr);

/// Whether a name is one that swept_program may give to a result.
bool is_swept_result(std::string_view name);

/// The names of inputs that a document refers to as "%x" or "%x[...]".
std::set<std::string> referred_names(const Json& document);

}  // namespace lockstep
