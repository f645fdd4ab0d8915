#include "workers/eager/index.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using at::indexing::TensorIndex;
using c10::IValue;

/// The tensor that Python makes of a list: int64, or bool if all of its items are bools.
at::Tensor list_to_tensor(const Value::List& list, const Scope& scope) {
  if (!list.empty() && std::holds_alternative<Value::List>(list.front().is)) {
    std::vector<at::Tensor> rows;
    for (const Value& row : list) {
      const auto* items = std::get_if<Value::List>(&row.is);
      TORCH_CHECK_VALUE(items != nullptr, "an index list holds lists and others");
      rows.push_back(list_to_tensor(*items, scope));
    }
    return at::stack(rows);
  }
  const bool bools = !list.empty() && std::holds_alternative<bool>(list.front().is);
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(list.size())}, at::kLong);
  auto* data = tensor.mutable_data_ptr<std::int64_t>();
  for (const Value& item : list) {
    const IValue value = to_ivalue(item, scope);
    TORCH_CHECK_TYPE(value.isInt() || value.isBool(), "an index list holds ", value.tagKind());
    *data++ = value.isBool() ? value.toBool() : value.toInt();
  }
  return bools ? tensor.to(at::kBool) : tensor;
}

/// A bound of a slice: an int, or a tensor that holds one.
std::optional<c10::SymInt> slice_bound(const Value& value, const Scope& scope) {
  const IValue bound = to_ivalue(value, scope);
  if (bound.isNone()) return std::nullopt;
  if (bound.isTensor()) return c10::SymInt(bound.toTensor().item<std::int64_t>());
  TORCH_CHECK_TYPE(bound.isInt() || bound.isBool(), "slice indices must be integers or None");
  return c10::SymInt(bound.isBool() ? static_cast<std::int64_t>(bound.toBool()) : bound.toInt());
}

TensorIndex torch_index(const IndexItem& index, const at::Device& device, const Scope& scope) {
  if (std::holds_alternative<Ellipsis>(index)) return at::indexing::Ellipsis;
  if (std::holds_alternative<NewAxis>(index)) return at::indexing::None;
  if (const auto* slice = std::get_if<Slice>(&index)) {
    return at::indexing::Slice(slice_bound(slice->start, scope), slice_bound(slice->stop, scope),
                               slice_bound(slice->step, scope));
  }
  const Value& item = std::get<Value>(index);
  if (item.is_none()) return at::indexing::None;
  if (const auto* list = std::get_if<Value::List>(&item.is)) {
    return list_to_tensor(*list, scope).to(device);
  }
  const IValue value = to_ivalue(item, scope);
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isTensor()) return value.toTensor();
  C10_THROW_ERROR(IndexError,
                  "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                  "are valid indices (got " +
                      value.tagKind() + ")");
}

std::vector<TensorIndex> torch_indices(const std::vector<IndexItem>& items,
                                       const at::Device& device, const Scope& scope) {
  std::vector<TensorIndex> indices;
  for (const IndexItem& item : items) indices.push_back(torch_index(item, device, scope));
  return indices;
}

/// An element of a Python list or tuple; negative positions count from the end.
IValue element(const std::vector<IValue>& elements, const std::vector<IndexItem>& items,
               const Scope& scope) {
  const auto* item = items.size() == 1 ? std::get_if<Value>(&items[0]) : nullptr;
  const IValue position = item == nullptr ? IValue() : to_ivalue(*item, scope);
  TORCH_CHECK_TYPE(position.isInt(), "list indices must be integers");
  const auto size = static_cast<std::int64_t>(elements.size());
  const std::int64_t at = position.toInt() < 0 ? position.toInt() + size : position.toInt();
  TORCH_CHECK_INDEX(at >= 0 && at < size, "list index out of range");
  return elements[static_cast<std::size_t>(at)];
}

}  // namespace

IValue get_item(const IValue& base, const std::vector<IndexItem>& items, const Scope& scope) {
  if (base.isList()) return element(base.toListRef().vec(), items, scope);
  if (base.isTensorList()) return element(base.toList().vec(), items, scope);
  if (base.isTuple()) return element(base.toTupleRef().elements().vec(), items, scope);
  TORCH_CHECK_TYPE(base.isTensor(), base.tagKind(), " object is not subscriptable");
  const at::Tensor& tensor = base.toTensor();
  return at::indexing::get_item(tensor, torch_indices(items, tensor.device(), scope));
}

void set_item(const IValue& base, const std::vector<IndexItem>& items, const IValue& value,
              const Scope& scope) {
  TORCH_CHECK_TYPE(base.isTensor(), base.tagKind(), " object does not support item assignment");
  const at::Tensor& tensor = base.toTensor();
  const at::Tensor source =
      value.isTensor()
          ? value.toTensor()
          : at::indexing::scalarToTensor(value.toScalar(), tensor.options(), tensor.device());
  at::indexing::set_item(tensor, torch_indices(items, tensor.device(), scope), source);
}

}  // namespace lockstep::eager
