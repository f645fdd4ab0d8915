#pragma once

#include <string>
#include <tl/expected.hpp>

#include "base/json.h"
#include "program/program.h"

// The wire form of programs and values, as docs/design/protocol.md spells them.
namespace lockstep {

/// Why JSON is no program or value.
struct ProgramFault {
  std::string pointer;  ///< RFC 6901, from what was read
  std::string message;  ///< what was found and what was expected
  /// It may be right in another version of the protocol: a context that this one does not know.
  bool unknown = false;
};

/// "/steps/0/args/1: found ..., expected ...".
std::string to_string(const ProgramFault& fault);

/// "0x1.8p+1", "-0x0p+0", "inf", "-inf", "nan".
std::string float_text(double value);

Json value_to_json(const Value& value);
tl::expected<Value, ProgramFault> value_from_json(const Json& json);

Json context_to_json(const Context& context);
tl::expected<Context, ProgramFault> context_from_json(const Json& json);

/// `literals` are the views of the program's literal tensors, by their index.
Json program_to_json(const Program& program, const Json& literals);

/// The inverse; the views of literal tensors are appended to `literals`, an array.  What it does
/// not look into is whether names are defined before they are used, and what operators there are.
tl::expected<Program, ProgramFault> program_from_json(const Json& json, Json& literals);

}  // namespace lockstep
