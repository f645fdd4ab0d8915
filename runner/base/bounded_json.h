#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace lockstep {

/// What a JSON text of a stranger may have.
struct JsonBounds {
  std::size_t bytes;   ///< of the text
  std::size_t depth;   ///< lists and objects inside each other
  std::size_t values;  ///< in all; lists and objects are values, too
};

/// The value of a text that anybody may have written, in time that grows with its length alone and
/// memory that the bounds limit.  An Error for what is no JSON, goes beyond the bounds or has a key
/// twice in one object; its message is one line.
Result<Json> parse_bounded_json(std::string_view text, const JsonBounds& bounds);

/// The value of a text whose length and depth the caller has bounded, in time that grows with the
/// length alone.  Of a key that an object has twice, both stay.  Throws Json::exception where it is
/// no JSON.
Json build_json(std::string_view text);

}  // namespace lockstep
