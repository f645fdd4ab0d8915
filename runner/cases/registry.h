#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lockstep {

/// What a name in a program stands for, as far as schemas tell.
enum class ValueKind { tensor, tensor_list, scalar, unknown };

/// An argument of an overload.
struct Argument {
  std::string name;
  std::string type;  ///< as `Argument::real_type()` prints it: "Tensor", "int[]", "ScalarType?"
  bool kwarg_only = false;
  bool has_default = false;
  bool mutates = false;
  int list_size = 0;  ///< N of "int[N]", which takes one int as well; else 0

  /// Whether it is a tensor or a list of them, and may be none.
  bool is_tensor() const { return type.starts_with("Tensor"); }
};

/// One overload of an operator.
struct Overload {
  std::string name;  ///< "default" where torch has the empty name
  std::vector<Argument> arguments;
  std::vector<ValueKind> results;
  std::vector<std::string> tags;
  bool on_cpu = true;  ///< whether there is a kernel for the CPU, be it a composite one
  std::size_t required_tensors = 0;  ///< arguments without a default that are, or list, tensors

  bool has_tag(std::string_view tag) const;
  /// Whether it writes to an argument.
  bool mutates() const;
};

/// An operator with its overloads, the default one first.
struct Operator {
  std::string name;  ///< "aten::add"
  std::vector<Overload> overloads;
};

/// The operators of one torch, dumped by `lockstep-eager schemas`.  There is no other table of
/// operators.
class Registry {
 public:
  static Result<Registry> read(const std::filesystem::path& file);
  static Result<Registry> from_json(const Json& json);

  const Operator* find(std::string_view name) const;
  /// "aten::add.Tensor", "add.Tensor"; "add" and "add.default" are the default one.
  const Overload* find_overload(std::string_view name) const;
  /// All of them, by name.
  const std::map<std::string, Operator, std::less<>>& operators() const { return operators_; }
  /// Names without their namespace "aten::", for suggestions.
  const std::vector<std::string>& names() const { return names_; }
  /// Kinds of devices by the names that this torch has for them, what its libraries register
  /// included.
  const std::vector<std::string>& devices() const { return devices_; }
  const std::string& torch() const { return torch_; }
  const std::string& operators_digest() const { return operators_digest_; }

 private:
  std::map<std::string, Operator, std::less<>> operators_;
  std::vector<std::string> names_;
  std::vector<std::string> devices_;
  std::string torch_;
  std::string operators_digest_;
};

/// Whether a glob means an operator as cases name it: "aten::add.Tensor" is meant by add,
/// add.Tensor, aten::add and globs of these; a public function by its dotted name or its last part.
bool operator_matches(std::string_view glob, std::string_view name);

/// Why a case may not name this overload, or empty.  Case files come from strangers: what opens
/// files, takes storages, streams or a generator, or prints is refused by the types and names of
/// its arguments.
std::string refusal(const Operator& op, const Overload& overload);

}  // namespace lockstep
