#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reader.h"
#include "cases/registry.h"

namespace lockstep {

/// A case over many operators: each that has the tag and takes as many tensors as there are inputs.
struct Sweep {
  std::string tag;
  std::vector<std::string> names;   ///< globs of overloads as ids name them; empty: all
  std::vector<std::string> inputs;  ///< the tensors, in the order of the schema
  /// What required arguments that are no tensors get, by their type.  Null: the sweep takes the
  /// overloads that need nothing given; an object: those that need something, and no more than
  /// this.
  Json given;
  /// The overload that an instance calls, such as "add.Scalar"; empty before one is chosen.
  std::string op;
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

/// The overloads that a sweep takes, as ids name them: "sin", "add.Scalar"; sorted.
std::vector<std::string> swept_operators(const Sweep& sweep, const Registry& registry);

/// How ids name an overload: "sin" for the default one, "add.Scalar".
std::string short_name(const Operator& op, const Overload& overload);

/// The `steps` and `outputs` of an instance: one call of `overload`, whose results are y, y1, y2
/// ... Without an overload a call that stands in for it, for checks of structure.
Json swept_program(const Sweep& sweep, const Overload* overload);

/// Whether a name is one that swept_program may give to a result.
bool is_swept_result(std::string_view name);

}  // namespace lockstep
