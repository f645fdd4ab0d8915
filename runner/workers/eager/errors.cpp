#include "workers/eager/errors.h"

#include <new>

namespace lockstep::eager {
namespace {

template <class E>
bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

/// Subclasses stand before their bases; the order is that of torch's own translation to Python.
std::string python_class(const std::exception& error) {
  if (const auto* own = dynamic_cast<const PythonError*>(&error)) return own->class_name;
  if (is<std::bad_alloc>(error)) return "torch.OutOfMemoryError";
  if (is<c10::OutOfMemoryError>(error)) return "torch.OutOfMemoryError";
  if (is<c10::LinAlgError>(error)) return "torch._C._LinAlgError";
  if (is<c10::NotImplementedError>(error)) return "NotImplementedError";
  if (is<c10::IndexError>(error)) return "IndexError";
  if (is<c10::ValueError>(error)) return "ValueError";
  if (is<c10::TypeError>(error)) return "TypeError";
  if (is<c10::BufferError>(error)) return "BufferError";
  if (is<c10::SyntaxError>(error)) return "SyntaxError";
  if (is<c10::AcceleratorError>(error)) return "torch.AcceleratorError";
  return "RuntimeError";
}

}  // namespace

std::string message_of(const std::exception& error) {
  if (const auto* torch_error = dynamic_cast<const c10::Error*>(&error))
    return torch_error->what_without_backtrace();
  const std::string message = error.what();
  return message.substr(0, message.find("\nException raised from "));
}

nlohmann::ordered_json describe_error(const std::exception& error) {
  return {{"stage", "run"},
          {"class", python_class(error)},
          {"message", message_of(error)},
          {"wrapped", nlohmann::ordered_json::array()},
          {"kind", "error"}};
}

}  // namespace lockstep::eager
