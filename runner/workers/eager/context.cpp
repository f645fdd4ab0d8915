#include "workers/eager/context.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <memory>

#include "workers/eager/names.h"

namespace lockstep::eager {
namespace {

using Undo = std::function<void()>;

Undo set_autocast(const Autocast& autocast) {
  const c10::DeviceType device = parse_device(autocast.device).type();
  const bool was_enabled = at::autocast::is_autocast_enabled(device);
  const c10::ScalarType was_dtype = at::autocast::get_autocast_dtype(device);
  const bool was_cached = at::autocast::is_autocast_cache_enabled();
  at::autocast::set_autocast_dtype(device, parse_dtype(autocast.dtype));
  at::autocast::set_autocast_enabled(device, autocast.enabled);
  at::autocast::increment_nesting();
  return [=] {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device, was_enabled);
    at::autocast::set_autocast_dtype(device, was_dtype);
    at::autocast::set_autocast_cache_enabled(was_cached);
  };
}

Undo set_deterministic(bool on) {
  at::Context& context = at::globalContext();
  const bool was_on = context.deterministicAlgorithms();
  const bool was_warning = context.deterministicAlgorithmsWarnOnly();
  context.setDeterministicAlgorithms(on, /*warn_only=*/false);
  return [=] { at::globalContext().setDeterministicAlgorithms(was_on, was_warning); };
}

Undo set_default_dtype(c10::ScalarType type) {
  const c10::ScalarType before = c10::get_default_dtype_as_scalartype();
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(type));
  return [=] { c10::set_default_dtype(c10::scalarTypeToTypeMeta(before)); };
}

template <class Guard>
Undo keep(bool value) {
  auto guard = std::make_shared<Guard>(value);
  return [guard]() mutable { guard.reset(); };
}

}  // namespace

ContextGuard::ContextGuard(const Context& context) {
  try {
    enter(context);
  } catch (...) {
    leave();
    throw;
  }
}

ContextGuard::~ContextGuard() { leave(); }

/// `inference` comes last: it sets whether gradients are recorded, too.
void ContextGuard::enter(const Context& context) {
  if (context.autocast) undo_.push_back(set_autocast(*context.autocast));
  if (context.default_dtype)
    undo_.push_back(set_default_dtype(parse_dtype(*context.default_dtype)));
  if (context.deterministic_algorithms)
    undo_.push_back(set_deterministic(*context.deterministic_algorithms));
  if (context.grad) undo_.push_back(keep<c10::AutoGradMode>(*context.grad));
  if (context.inference) undo_.push_back(keep<c10::InferenceMode>(*context.inference));
}

void ContextGuard::leave() {
  while (!undo_.empty()) {
    undo_.back()();
    undo_.pop_back();
  }
}

}  // namespace lockstep::eager
