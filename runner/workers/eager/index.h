#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "program/program.h"
#include "workers/eager/values.h"

// `get` and `set` steps: what Python's `__getitem__` and `__setitem__` do.
namespace lockstep::eager {

/// `base[items]`.  `base` may be a list or tuple of results if there is one item, an int.
c10::IValue get_item(const c10::IValue& base, const std::vector<IndexItem>& items,
                     const Scope& scope);

/// `base[items] = value`, where `value` is a tensor or a number.
void set_item(const c10::IValue& base, const std::vector<IndexItem>& items,
              const c10::IValue& value, const Scope& scope);

}  // namespace lockstep::eager
