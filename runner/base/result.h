#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace lockstep {

/// Why something could not be done, and how to mend it.  Both are one or more whole lines of text
/// without a final newline; `hint` may be empty.
struct Error {
  std::string message;
  std::string hint;
};

/// Either a value or the reason why there is none.  The core throws no exceptions of its own.
template <class T>
using Result = tl::expected<T, Error>;

/// `return fail("what went wrong", "how to mend it");`
inline tl::unexpected<Error> fail(std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{std::move(message), std::move(hint)});
}

}  // namespace lockstep
