#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/result.h"

namespace lockstep::wire {

// A worker may be anybody's program, or a process that a bug of the compiler made write nonsense.
// Reading a worker's text always gives safe values or an Error.

/// Thrown by the readers of this room and caught in their public functions by `unless_broken`: a
/// reader of a tree is all "or give up".
struct Broken {
  std::string message;
};

[[noreturn]] void broken(std::string_view where, std::string_view what);

/// A value in a worker's text, and its JSON pointer.
struct JsonAt {
  const Json& json;
  std::string where;

  bool has(const char* key) const {
    const auto found = json.find(key);
    return found != json.end() && !found->is_null();
  }
  JsonAt at(const char* key) const;
  JsonAt at(std::size_t index) const;

  // Each gives what it is asked for or throws Broken.
  const JsonAt& object() const;
  std::size_t array() const;  ///< how many elements
  std::string string(std::size_t longest = kLongestWord) const;
  std::int64_t integer() const;
  std::int64_t count() const;  ///< an integer that is not negative
  bool boolean() const;
  double number() const;
  /// Text of any length, cut to what a report can show.
  std::string bounded_text() const;
  /// "0x1.8p+1", "-0x0p+0", "inf", "-inf", "nan".
  double hexadecimal() const;
  [[noreturn]] void wrong(std::string_view expected) const;

  static constexpr std::size_t kLongestWord = 256;
};

/// Why a reader gave up, as an Error that begins with `what` is broken: "observation", "inputs".
tl::unexpected<Error> broken_error(std::string_view what, std::string_view message);

/// What `read` returns, or why it gave up.
template <class Read>
auto unless_broken(std::string_view what, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const Broken& reason) {
    return broken_error(what, reason.message);
  } catch (const Json::exception& error) {
    return broken_error(what, error.what());
  } catch (const std::bad_alloc&) {
    return broken_error(what, "too large for the memory");
  }
}

}  // namespace lockstep::wire
