#pragma once

#include <optional>
#include <string>

#include "base/reader.h"
#include "cases/case.h"
#include "cases/registry.h"

namespace lockstep {

/// What decoding needs besides the file.
struct DecodeContext {
  /// Operators of the torch at hand; without one only the structure is checked, and strings stay
  /// strings.
  const Registry* registry = nullptr;
  /// What `$device` stands for.
  std::string device = "cpu";
  /// A run on another torch: an operator or overload that the registry lacks makes the case
  /// unsupported.  An author who checks a file wants to be told of the misspelling instead.
  bool missing_is_unsupported = false;
};

/// Decodes a case whose matrix has been substituted: `root` is the substituted document of `file`.
/// All that is wrong is added to `diagnostics`; the result is only there when nothing was.
std::optional<Case> decode_case(const JsonFile& file, const Json& root, const std::string& id,
                                const DecodeContext& context, Diagnostics& diagnostics);

// The parts, each in a file of its own.

/// What a file says of the case as a whole: title, links, tags, where and how it is run.
void decode_header(Reader& reader, const Node& root, Case& result);

/// A tensor of `inputs` or a literal of `steps`; `declared` has the tensors before it (for
/// `view_of`), by name.
std::optional<TensorSpec> decode_tensor(Reader& reader, const Node& node, bool literal,
                                        const std::vector<InputSpec>& declared);

/// One element: a number, or one of the spellings of the format.
std::optional<ElementBits> decode_element(Reader& reader, const Node& node, const Dtype& dtype);

/// A fill rule with its parameters, for a tensor whose dtype, shape and storage are known.
void decode_fill(Reader& reader, const Node& node, TensorSpec& spec);

/// Names that steps may refer to.
struct Scope {
  struct Name {
    ValueKind kind = ValueKind::unknown;
    std::string pointer;
    bool used = false;
  };
  std::vector<std::pair<std::string, Name>> names;

  Name* find(std::string_view name);
  std::vector<std::string> known() const;
};

/// Steps, rewritten in the spelling of the worker protocol.
struct ProgramParts {
  Json steps = Json::array();
  std::vector<TensorSpec> literals;
  std::vector<std::string> operators;
  std::string lacking;
};

/// Decodes a list of steps; names they define are added to the scope.
void decode_steps(Reader& reader, const Node& node, const DecodeContext& context, Scope& scope,
                  ProgramParts& parts);

/// A context object, rewritten in the spelling of the worker protocol.
Json decode_context(Reader& reader, const Node& node);

/// A value without knowledge of a schema: numbers, lists, references; strings stay strings.
Json decode_plain_value(Reader& reader, const Node& node, Scope& scope);

/// A reference "%x" to a known name, marked as used; nothing (and an error) when it is none.
std::optional<std::string> decode_reference(Reader& reader, const Node& node, Scope& scope);

/// Whether text is `[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters.
bool valid_name(std::string_view text);

/// "%t[..., 0::2]": the name and the index items in the spelling of the worker protocol.
struct IndexedName {
  std::string name;
  Json items = Json::array();
};
std::optional<IndexedName> decode_indexed(Reader& reader, const Node& node, Scope& scope);

/// `{"float": "0x1.8p+1"}`, the spelling of a float in the worker protocol.
Json wire_float(double value);

}  // namespace lockstep
