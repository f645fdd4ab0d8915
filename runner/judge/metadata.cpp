#include "judge/metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace lockstep {
namespace {

/// Strides matter along dimensions with more than one index, and in tensors with elements
/// (torch._prims_common.check_significant_strides).
bool strides_differ(const TensorView& a, const TensorView& b, StrideRule rule) {
  if (rule == StrideRule::ignore) return false;
  if (rule == StrideRule::exact) return a.strides != b.strides;
  if (a.elements() == 0) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] > 1 && a.strides[d] != b.strides[d]) return true;
  }
  return false;
}

bool quantizers_differ(const std::optional<Quantizer>& a, const std::optional<Quantizer>& b) {
  if (a.has_value() != b.has_value()) return true;
  return a && (a->scheme != b->scheme || a->scales != b->scales ||
               a->zero_points != b->zero_points || a->axis != b->axis);
}

std::string describe_quantizer(const std::optional<Quantizer>& quantizer) {
  if (!quantizer) return "none";
  return fmt::format("{}, scale [{}], zero point [{}]", quantizer->scheme,
                     fmt::join(quantizer->scales, ", "), fmt::join(quantizer->zero_points, ", "));
}

/// Strides of other shapes say nothing.
std::vector<std::string> tensor_differences(const TensorView& e, const TensorView& c,
                                            StrideRule strides,
                                            const std::optional<CrossDevice>& cross_device) {
  std::vector<std::string> all;
  if (e.dtype != c.dtype) {
    all.push_back(fmt::format("dtype {}, compiled {}", e.dtype->name, c.dtype->name));
  }
  if (e.shape != c.shape) {
    all.push_back(fmt::format("shape [{}], compiled [{}]", fmt::join(e.shape, ", "),
                              fmt::join(c.shape, ", ")));
  }
  const bool each_on_its_own =
      cross_device && e.device == cross_device->eager_device && c.device == cross_device->device;
  if (e.device != c.device && !each_on_its_own) {
    all.push_back(fmt::format("device {}, compiled {}", e.device, c.device));
  }
  if (e.layout != c.layout) {
    all.push_back(fmt::format("layout {}, compiled {}", e.layout, c.layout));
  }
  if (e.requires_grad != c.requires_grad) {
    all.push_back(fmt::format("requires_grad {}, compiled {}", e.requires_grad, c.requires_grad));
  }
  if (quantizers_differ(e.quantizer, c.quantizer)) {
    all.push_back(fmt::format("quantizer {}, compiled {}", describe_quantizer(e.quantizer),
                              describe_quantizer(c.quantizer)));
  }
  if (e.shape == c.shape && strides_differ(e, c, strides)) {
    all.push_back(fmt::format("strides [{}], compiled [{}]", fmt::join(e.strides, ", "),
                              fmt::join(c.strides, ", ")));
  }
  return all;
}

/// A tensor of a call with the name that reports use.
struct Member {
  std::string name;
  const TensorView* eager;
  const TensorView* compiled;
};

std::vector<Member> members(const CallResult& eager, const CallResult& compiled) {
  std::vector<Member> all;
  const auto add = [&](std::string_view prefix, const NamedValues& mine, const NamedValues& other) {
    for (const auto& [name, value] : mine) {
      const DataValue* partner = find_value(other, name);
      const auto* e = std::get_if<TensorView>(&value);
      const auto* c = partner == nullptr ? nullptr : std::get_if<TensorView>(partner);
      if (e != nullptr && c != nullptr) all.push_back({fmt::format("{}{}", prefix, name), e, c});
    }
  };
  // Inputs first, so that a difference reads "y shares memory with input x".
  add(kInputPrefix, eager.inputs, compiled.inputs);
  add("", eager.outputs, compiled.outputs);
  add(kGradientPrefix, eager.grads, compiled.grads);
  return all;
}

bool shares(const TensorView& a, const TensorView& b) {
  return a.storage == b.storage && !a.bytes.empty() && !b.bytes.empty();
}

}  // namespace

std::string metadata_difference(const DataValue& eager, const DataValue& compiled,
                                StrideRule strides,
                                const std::optional<CrossDevice>& cross_device) {
  const auto* e = std::get_if<TensorView>(&eager);
  const auto* c = std::get_if<TensorView>(&compiled);
  if (e != nullptr && c != nullptr) {
    return fmt::format("{}", fmt::join(tensor_differences(*e, *c, strides, cross_device), "; "));
  }
  const auto* x = std::get_if<ScalarValue>(&eager);
  const auto* y = std::get_if<ScalarValue>(&compiled);
  // The length of a list is to its elements what a shape is.
  if (x != nullptr && y != nullptr && x->index() == y->index() &&
      (!std::holds_alternative<ListOf>(*x) || *x == *y)) {
    return "";
  }
  return fmt::format("{}, compiled {}", describe(eager), describe(compiled));
}

bool are_comparable(const DataValue& eager, const DataValue& compiled) {
  const auto* e = std::get_if<TensorView>(&eager);
  const auto* c = std::get_if<TensorView>(&compiled);
  if (e == nullptr || c == nullptr) return metadata_difference(eager, compiled, {}).empty();
  return e->dtype == c->dtype && e->shape == c->shape && e->layout == c->layout &&
         !quantizers_differ(e->quantizer, c->quantizer);
}

std::string stride_difference(const Repetition& eager, const Repetition& compiled,
                              StrideRule rule) {
  for (std::size_t call = 0; call < std::min(eager.size(), compiled.size()); ++call) {
    for (const Member& each : members(eager[call], compiled[call])) {
      const bool comparable = each.eager->shape == each.compiled->shape;
      if (comparable && strides_differ(*each.eager, *each.compiled, rule)) {
        return fmt::format("{}: strides [{}], compiled [{}]", each.name,
                           fmt::join(each.eager->strides, ", "),
                           fmt::join(each.compiled->strides, ", "));
      }
    }
  }
  return "";
}

std::string alias_difference(const CallResult& eager, const CallResult& compiled) {
  const std::vector<Member> all = members(eager, compiled);
  std::string first;
  std::size_t pairs = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool e = shares(*all[i].eager, *all[j].eager);
      const bool c = shares(*all[i].compiled, *all[j].compiled);
      const bool moved = e && c && all[i].eager->offset != all[i].compiled->offset;
      if (e == c && !moved) continue;
      if (++pairs > 1) continue;
      first =
          moved
              ? fmt::format("{} shares memory with {} at storage offset {}, compiled at {}",
                            all[i].name, all[j].name, all[i].eager->offset, all[i].compiled->offset)
              : fmt::format("{} {} memory with {}, compiled {}", all[i].name,
                            e ? "shares" : "does not share", all[j].name, c ? "does" : "does not");
    }
  }
  if (pairs > 1) first += fmt::format(" ({})", and_more(pairs - 1));
  return first;
}

}  // namespace lockstep
