#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/reader.h"
#include "cases/case.h"
#include "cases/python_operators.h"
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
  /// What modules of Python bring besides; null: there are none.
  const PythonOperators* python = nullptr;
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

/// The places that keep a value of their own beside a fill.
void decode_except(Reader& reader, const Node& node, TensorSpec& spec);

/// Elements from a file beside the case, for a tensor whose dtype and storage are known: its size
/// and its digest are checked.
void decode_file(Reader& reader, const Node& node, TensorSpec& spec);

/// How the integers of a quantized tensor stand for numbers; of other tensors there is nothing to
/// say.
void decode_quantizer(Reader& reader, const Node& tensor, TensorSpec& spec);

/// Names that steps may refer to.
struct Scope {
  struct Name {
    ValueKind kind = ValueKind::unknown;
    std::string pointer;
    bool used = false;
  };
  std::vector<std::pair<std::string, Name>> names;
  int depth = 0;  ///< of the sub-programs that are being decoded

  Name* find(std::string_view name);
  std::vector<std::string> known() const;
};

/// What steps make.
struct ProgramParts {
  std::vector<Step> steps;
  std::vector<TensorSpec> literals;
  std::vector<std::string> operators;
  std::string lacking;
  bool writes = false;  ///< a step may write to a tensor that there is already
};

/// Whether the last of a list of steps may be a block that is not compiled.
enum class EndsBeside { no, yes };

/// Decodes a list of steps; names they define are added to the scope.
void decode_steps(Reader& reader, const Node& node, const DecodeContext& context, Scope& scope,
                  ProgramParts& parts, EndsBeside ends = EndsBeside::no);

/// A step that calls an operator with sub-programs, whose arguments are known; nothing, and an
/// error, where it is wrong.  What the sub-programs name leaves the scope.
std::optional<ApplyCall> decode_apply(Reader& reader, const Node& step, Arguments arguments,
                                      const DecodeContext& context, Scope& scope,
                                      ProgramParts& parts);

/// An error for each name of the scope, from the place `from` on, that nobody uses.
void check_used(Reader& reader, const Scope& scope, std::size_t from = 0);

/// Whose context: of steps; of the block that may say `compiled`; of calls, which may say `thread`.
enum class ContextOf { steps, last_steps, calls };

/// A context.
Context decode_context(Reader& reader, const Node& node, ContextOf whose);

/// Where somebody's program says a step, if the step has `source`.  The file is never opened, and
/// its path says nothing of anybody's machine: it is relative.
std::optional<SourceLine> decode_source(Reader& reader, const Node& step);

/// The names of `let`, which are added to the scope; nothing stands for a result that is not
/// needed, one for all of them where `let` is null.  `kinds` are those of the results, none where
/// they are not known; with `effect` the step is there for what it does, and its names need not be
/// used.
std::vector<std::optional<std::string>> decode_let(Reader& reader, const Node& step, Scope& scope,
                                                   const std::vector<ValueKind>& kinds,
                                                   bool effect);

/// The backward after a call: of some of the outputs, from ones or from some of the inputs, which
/// are then used.
Backward decode_backward(Reader& reader, const Node& node, const std::set<std::string>& outputs,
                         const std::set<std::string>& inputs, Scope& scope);

/// The calls of a file: its `inputs`, each time with what `calls` has otherwise.  `define` gets the
/// inputs whose names steps may use, once, also where calls are wrong.
std::vector<CallSpec> decode_calls(Reader& reader, const Node& root,
                                   const std::function<void(const CallSpec&)>& define);

/// What the rules of `compare` may name.
struct ComparedNames {
  std::vector<std::string> known;    ///< outputs, inputs and gradients such as "x.grad"
  std::vector<std::string> tensors;  ///< the outputs and inputs among them that may be tensors
  std::set<std::string> left_out;    ///< inputs of the file that this call of a sweep does without
};

/// The rules of `compare`.  Of a sweep (`swept`), results that this operator does not have may be
/// named, too.
std::vector<CompareRule> decode_compare(Reader& reader, const Node& root,
                                        const ComparedNames& names, bool swept);

/// A value without knowledge of a schema: numbers, lists, references; strings stay strings.
Value decode_plain_value(Reader& reader, const Node& node, Scope& scope);

/// A reference "%x" to a known name, marked as used; nothing (and an error) when it is none.
std::optional<std::string> decode_reference(Reader& reader, const Node& node, Scope& scope);

/// Whether text is `[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters.
bool valid_name(std::string_view text);

/// "%t[..., 0::2]": the name and the index items.
struct IndexedName {
  std::string name;
  std::vector<IndexItem> items;
};
std::optional<IndexedName> decode_indexed(Reader& reader, const Node& node, Scope& scope);

/// The relations that a case asks for; it is known otherwise, and `outputs` are the values that it
/// returns.
std::vector<RelationSpec> decode_relations(Reader& reader, const Node& node, const Case& declared,
                                           const std::set<std::string>& outputs);

}  // namespace lockstep
