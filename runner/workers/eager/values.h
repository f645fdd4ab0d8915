#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "program/value.h"

// The values of programs and torch's IValues.
namespace lockstep::eager {

/// The names of a running program: its inputs and the results of its steps.
using Scope = std::unordered_map<std::string, c10::IValue>;

/// What `{"ref": name}` stands for.  Malformed if nothing has that name.
const c10::IValue& lookup(const Scope& scope, const std::string& name);

/// A value of a message.  Malformed if it is none.
Value parse_value(const nlohmann::json& value);

/// A value whose type nobody asks for: an operand of a scalar step, an index item, `with` of a
/// grad. Lists become lists of IValues.
c10::IValue to_ivalue(const Value& value, const Scope& scope);

/// A value as an argument of this type (`Argument::real_type()`), by the rules of torch's Python
/// argument parser. A number for a Tensor becomes a wrapped number, an int may be a float, and a
/// 0-dimensional tensor a number. With `length` N one element stands for a list of N.
/// Enumerations become int64, as the dispatcher's stack wants them.
/// What does not fit throws c10::TypeError; what no worker passes (Storage, Stream, Generator)
/// throws Unsupported.
c10::IValue to_argument(const Value& value, const c10::TypePtr& type, std::optional<int> length,
                        const Scope& scope);

/// A number, bool, string or None as a value of the protocol; nothing for anything else.
std::optional<nlohmann::ordered_json> to_json(const c10::IValue& value);

}  // namespace lockstep::eager
