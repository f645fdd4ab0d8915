#include "cases/restarted.h"

#include <algorithm>

namespace lockstep {
namespace {

/// What a call left under that name, an output before an input; nullptr: no tensor.
const TensorView* left_by(const CallResult& call, const std::string& name) {
  const NamedValues& group = find_value(call.outputs, name) != nullptr ? call.outputs : call.inputs;
  return find_tensor(group, name);
}

/// An input that has the bytes of a tensor; what else it is, the case says.
TensorSpec holding(TensorSpec spec, const TensorView& tensor) {
  spec.dtype = tensor.dtype;
  spec.shape = tensor.shape;
  spec.strides = tensor.strides;
  spec.offset = tensor.offset;
  spec.storage_elements = static_cast<std::int64_t>(tensor.bytes.size()) / tensor.dtype->bytes;
  spec.conj = tensor.conj;
  spec.neg = tensor.neg;
  spec.scale = 1;
  spec.except.clear();
  spec.fill =
      FileFill{{},
               {},
               std::make_shared<const std::string>(
                   reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size())};
  return spec;
}

}  // namespace

std::optional<Case> restarted_case(const Case& declared, const Observation& eager) {
  const auto& carry = declared.program.carry;
  if (carry.empty() || eager.outcome != Outcome::returned || eager.repetitions.empty() ||
      eager.repetitions.front().size() != declared.calls.size())
    return std::nullopt;
  Case restarted = declared;
  restarted.program.carry.clear();
  for (std::size_t at = 1; at < restarted.calls.size(); ++at) {
    for (InputSpec& input : restarted.calls[at].inputs) {
      const auto from = std::find_if(carry.begin(), carry.end(),
                                     [&](const auto& each) { return each.first == input.name; });
      if (from == carry.end()) continue;
      const TensorView* left = left_by(eager.repetitions.front()[at - 1], from->second);
      auto* spec = std::get_if<TensorSpec>(&input.value);
      if (left == nullptr || spec == nullptr || left->layout != "strided") return std::nullopt;
      *spec = holding(std::move(*spec), *left);
    }
  }
  return restarted;
}

}  // namespace lockstep
