#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "workers/eager/values.h"

// Overloads of the dispatcher: found by name, refused by rule, called boxed.
namespace lockstep::eager {

/// Why no case may call this operator, or nothing: it takes a storage, a stream or a file's name,
/// or talks to other processes.  The runner refuses these too; this is the second fence.
std::optional<std::string> refusal(const c10::FunctionSchema& schema);

/// The overload spelled "aten::add.Tensor" ("aten::relu.default" for the unnamed one).  Unsupported
/// if this torch lacks it or `refusal` has a reason.
c10::OperatorHandle find_operator(const std::string& spelling);

/// "add" of `aten::add_.Scalar`, whose in-place variant has the same kernel; empty for an operator
/// that is not aten's.
std::string_view base_name(const c10::OperatorHandle& op);

/// The type of an argument, whether it may be None or not.
c10::TypePtr bare_type(const c10::Argument& argument);

/// The dispatcher's stack for a call: values by position and by keyword, defaults for the rest.
/// Throws c10::TypeError where Python's argument parser would.
torch::jit::Stack bind_arguments(const c10::FunctionSchema& schema, const Arguments& given,
                                 const Scope& scope);

/// Calls through the dispatcher, so with autograd, autocast and the device's kernel.
std::vector<c10::IValue> call_operator(const c10::OperatorHandle& op, torch::jit::Stack stack);

}  // namespace lockstep::eager
