#pragma once

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace lockstep::eager {

/// The program needs what this worker, device or torch does not have.  Becomes the outcome
/// `unsupported`; the text is its reason.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The request breaks the protocol (a missing key, a view outside its storage).  No observation is
/// written; the execution exits with `kExitMalformed`.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This worker failed at its own work: nothing is said of the program.  No observation is written;
/// the execution exits with `kExitNotWritten`.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An error that plain Python raises and torch does not know, such as ZeroDivisionError.
struct PythonError : std::runtime_error {
  PythonError(std::string name, const std::string& message)
      : std::runtime_error(message), class_name(std::move(name)) {}
  std::string class_name;
};

/// Exit status of an execution whose request broke the protocol, and of one that could not write
/// its observation.
inline constexpr int kExitMalformed = 64;
inline constexpr int kExitNotWritten = 70;

/// Calls torch on behalf of the worker rather than of the program: what torch refuses then says
/// nothing about the program, and becomes Unsupported.
template <class Call>
auto or_unsupported(const std::string& what, Call call) {
  try {
    return call();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    throw Unsupported(what + ": " + error.what_without_backtrace());
  }
}

/// The message of an error without the C++ backtrace, which is full of addresses. What a package of
/// AOTInductor rethrows is no c10::Error, and has the backtrace in its text.
std::string message_of(const std::exception& error);

/// `error` of an observation: class as Python names it, message without the C++ backtrace (which
/// costs 13 ms to symbolise).  Anything that is no c10::Error is a RuntimeError, as in Python.
nlohmann::ordered_json describe_error(const std::exception& error);

}  // namespace lockstep::eager
