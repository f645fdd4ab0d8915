#include "workers/eager/uses.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <sstream>

#include "workers/eager/names.h"

namespace lockstep::eager {
namespace {

constexpr std::size_t kMostUses = 64;    ///< of an execution
constexpr std::size_t kMostBytes = 240;  ///< of a use
constexpr std::size_t kMostOfAnArgument = 48;

std::string layout_of(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided) return layout_name(tensor.layout());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return "number";
  if (tensor.dim() == 0) return "scalar";
  if (tensor.numel() == 0) return "empty";
  std::string word = "strided";
  bool expanded = false;
  for (std::int64_t i = 0; i < tensor.dim(); ++i)
    expanded = expanded || (tensor.stride(i) == 0 && tensor.size(i) > 1);
  if (tensor.is_contiguous()) {
    word = "contiguous";
  } else if (expanded) {
    word = "expanded";
  } else if (tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    word = "channels_last";
  } else if (tensor.is_non_overlapping_and_dense()) {
    word = "permuted";
  }
  return tensor.storage_offset() == 0 ? word : word + "+offset";
}

std::string operand(const at::Tensor& tensor) {
  return " " + dtype_name(tensor.scalar_type()) + ":" + layout_of(tensor);
}

std::string argument(const c10::Argument& declared, const c10::IValue& value) {
  if (declared.default_value() && *declared.default_value() == value) return "";
  std::ostringstream out;
  out << value;
  std::string text = out.str();
  std::erase_if(text, [](char c) { return c <= ' ' || c == '"' || c > '~'; });
  if (text.size() > kMostOfAnArgument) text = text.substr(0, kMostOfAnArgument) + "...";
  return " " + declared.name() + "=" + text;
}

}  // namespace

std::string use_text(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  std::string text =
      schema.name() + "." + (schema.overload_name().empty() ? "default" : schema.overload_name());
  std::string others;
  for (std::size_t i = 0; i < stack.size() && i < schema.arguments().size(); ++i) {
    const c10::IValue& value = stack[i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) text += operand(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) text += operand(tensor);
    } else if (value.isOptionalTensorList()) {
      for (const auto& tensor : value.toOptionalTensorVector()) {
        if (tensor && tensor->defined()) text += operand(*tensor);
      }
    } else {
      others += argument(schema.arguments()[i], value);
    }
  }
  text += others;
  if (text.size() > kMostBytes) text.resize(text.rfind(' ', kMostBytes));
  return text;
}

void Uses::begin(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (texts_.size() < kMostUses) pending_ = use_text(op, stack);
}

void Uses::done() {
  if (pending_.empty()) return;
  if (std::find(texts_.begin(), texts_.end(), pending_) == texts_.end())
    texts_.push_back(std::move(pending_));
  pending_.clear();
}

}  // namespace lockstep::eager
