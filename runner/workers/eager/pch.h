// What nearly every file of the worker includes, precompiled.  Never ATen/ATen.h (14 s a file) nor
// torch/torch.h (30 s): each file adds the few ATen/ops headers that it calls.
#pragma once

// Without it, several headers of ATen include all the others.
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#endif

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>
