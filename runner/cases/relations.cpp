#include "cases/relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "cases/fill.h"
#include "cases/fresh.h"

namespace lockstep {
namespace {

/// On so many inputs a relation between rows is asked.
constexpr std::size_t kDraws = 3;

constexpr std::string_view kShifted = "shifted", kTransposed = "transposed",
                           kChannelsLast = "channels_last";

using Picks = std::vector<std::pair<std::size_t, std::int64_t>>;

/// Whether the elements of a tensor can be put elsewhere.
bool is_plain(const TensorSpec& tensor) {
  return tensor.view_of.empty() && !tensor.constant && !tensor.zero_tensor && !tensor.quantizer &&
         !tensor.conj && !tensor.neg;
}

/// Strides of a dense tensor of that shape, whose dimensions lie as `order` says, the innermost
/// last.
std::vector<std::int64_t> strides_in(const std::vector<std::size_t>& order,
                                     const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    strides[*dimension] = stride;
    stride *= std::max<std::int64_t>(shape[*dimension], 1);
  }
  return strides;
}

/// The dimensions of a tensor, the innermost in memory last.
std::vector<std::size_t> order_of(const TensorSpec& tensor) {
  std::vector<std::size_t> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensor.strides[a] > tensor.strides[b];
  });
  return order;
}

/// Calls `visit` with every index of a shape.
template <class Visit>
void each_index(const std::vector<std::int64_t>& shape, Visit&& visit) {
  if (std::count(shape.begin(), shape.end(), 0) > 0) return;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (;;) {
    visit(index);
    std::size_t dimension = shape.size();
    while (dimension > 0 && ++index[dimension - 1] == shape[dimension - 1]) index[--dimension] = 0;
    if (dimension == 0) return;
  }
}

std::int64_t place_of(const TensorSpec& tensor, const std::vector<std::int64_t>& index) {
  return std::inner_product(index.begin(), index.end(), tensor.strides.begin(), tensor.offset);
}

/// A tensor of that shape and order whose elements are `element(index)`: where they lie.
template <class Element>
TensorSpec made_of(TensorSpec tensor, std::vector<std::int64_t> shape,
                   const std::vector<std::size_t>& order, std::int64_t offset, Element&& element) {
  tensor.shape = std::move(shape);
  tensor.strides = strides_in(order, tensor.shape);
  tensor.offset = offset;
  tensor.storage_elements = offset + std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                                     std::int64_t{1}, std::multiplies<>());
  const auto size = static_cast<std::size_t>(tensor.dtype->bytes);
  std::string bytes(static_cast<std::size_t>(tensor.storage_elements) * size, '\0');
  each_index(tensor.shape, [&](const std::vector<std::int64_t>& index) {
    const auto at = static_cast<std::size_t>(place_of(tensor, index));
    std::memcpy(bytes.data() + at * size, element(index), size);
  });
  tensor.fill = FileFill{{}, {}, std::make_shared<const std::string>(std::move(bytes))};
  tensor.except.clear();
  tensor.scale = 1;
  return tensor;
}

/// A tensor, and the bytes of its storage.
struct Held {
  const TensorSpec* tensor;
  std::vector<std::byte> bytes;

  Held(const TensorSpec& of, std::string_view stream)
      : tensor(&of), bytes(storage_bytes(of, stream)) {}
  const std::byte* element(const std::vector<std::int64_t>& index) const {
    return bytes.data() + place_of(*tensor, index) * tensor->dtype->bytes;
  }
};

/// Rows of tensors as a tensor of its own: which of them row i comes from, and which row it is
/// there, along the dimension `along`.
TensorSpec rows_of(const std::vector<Held>& tensors, std::int64_t along, const Picks& from) {
  const TensorSpec& first = *tensors.front().tensor;
  const auto dimension = static_cast<std::size_t>(along);
  std::vector<std::int64_t> shape = first.shape;
  shape[dimension] = static_cast<std::int64_t>(from.size());
  return made_of(first, shape, order_of(first), 0, [&](std::vector<std::int64_t> index) {
    const auto& [of, row] = from[static_cast<std::size_t>(index[dimension])];
    index[dimension] = row;
    return tensors[of].element(index);
  });
}

/// The same numbers in another layout (layout_names).
TensorSpec laid_out(const TensorSpec& tensor, std::string_view stream, std::string_view layout) {
  std::vector<std::size_t> order = order_of(tensor);
  if (tensor.shape.empty()) return tensor;
  if (layout == kTransposed) {
    if (tensor.shape.size() < 2) return tensor;
    std::swap(order[0], order[1]);
  } else if (layout == kChannelsLast) {
    if (tensor.shape.size() != 4) return tensor;
    order = {0, 2, 3, 1};
  }
  const Held held(tensor, stream);
  return made_of(tensor, tensor.shape, order, layout == kShifted ? 1 : 0,
                 [&](const std::vector<std::int64_t>& index) { return held.element(index); });
}

/// Appends the calls of the relations of one case.
class Relating {
 public:
  explicit Relating(const Case& declared) : result_{declared, {}} {}

  RelatedCase made() {
    const std::vector<RelationSpec> specs = result_.declared.relations;
    for (const RelationSpec& spec : specs) {
      if (spec.kind == RelationKind::batch) batch(spec);
      if (spec.kind == RelationKind::rows) rows(spec);
      if (spec.kind == RelationKind::layout) layout(spec);
    }
    // Behind all others, which may have had it compiled anew.
    for (const RelationSpec& spec : specs) {
      if (spec.kind == RelationKind::again)
        add(spec, calls()[0], fmt::format("a call behind {} others", calls().size() - 1), {});
    }
    return std::move(result_);
  }

 private:
  std::vector<CallSpec>& calls() { return result_.declared.calls; }

  /// Appends a call, and what it has to give.
  void add(const RelationSpec& spec, CallSpec call, std::string what, std::vector<RowRange> rows) {
    calls().push_back(std::move(call));
    result_.relations.push_back({.kind = spec.kind,
                                 .what = std::move(what),
                                 .call = calls().size() - 1,
                                 .of = 0,
                                 .rows = std::move(rows),
                                 .outputs = spec.of});
  }

  /// The calls with the draws of the inputs; appended where they are not there yet.
  const std::vector<std::size_t>& draws() {
    if (draws_.empty()) {
      draws_.push_back(0);
      Case alone = result_.declared;
      alone.calls.resize(1);
      for (std::uint64_t seed = 1; seed < kDraws; ++seed) {
        auto drawn = fresh_case(alone, seed);
        if (!drawn) break;
        draws_.push_back(calls().size());
        calls().push_back(std::move(drawn->calls[0]));
      }
    }
    return draws_;
  }

  static const TensorSpec& tensor_of(const CallSpec& call, const std::string& name) {
    const auto input = std::find_if(call.inputs.begin(), call.inputs.end(),
                                    [&](const InputSpec& each) { return each.name == name; });
    return std::get<TensorSpec>(input->value);
  }

  std::int64_t rows_in(const RelationSpec& spec) {
    const auto& [name, along] = spec.inputs.front();
    return tensor_of(calls()[0], name).shape[static_cast<std::size_t>(along)];
  }

  /// A call whose inputs have rows of the draws; what has no rows is that of the first of them.
  CallSpec of_rows(const RelationSpec& spec, const Picks& picks) {
    CallSpec call = calls()[draws_[picks.front().first]];
    for (const auto& [name, along] : spec.inputs) {
      TensorSpec rows = rows_of(drawn(name), along, picks);
      for (InputSpec& input : call.inputs) {
        if (input.name != name) continue;
        input.value = std::move(rows);
        break;
      }
    }
    return call;
  }

  /// An input in all draws; its bytes are made once.
  const std::vector<Held>& drawn(const std::string& name) {
    std::vector<Held>& held = held_[name];
    for (std::size_t at = held.size(); at < draws_.size(); ++at) {
      drawn_.push_back(tensor_of(calls()[draws_[at]], name));
      held.emplace_back(drawn_.back(), name);
    }
    return held;
  }

  /// Rows `from` to `from + count` of a draw, alone.
  void alone(const RelationSpec& spec, std::size_t draw, std::int64_t from, std::int64_t count) {
    Picks picks;
    for (std::int64_t row = from; row < from + count; ++row) picks.emplace_back(draw, row);
    add(spec, of_rows(spec, picks),
        fmt::format("the absence of all but {} of {}",
                    count == 1 ? fmt::format("row {}", from)
                               : fmt::format("rows {} to {}", from, from + count - 1),
                    rows_in(spec)),
        {{.count = count, .of = draws_[draw], .from = from}});
  }

  void batch(const RelationSpec& spec) {
    draws();
    const std::int64_t all = rows_in(spec);
    std::int64_t most = 0;
    for (const std::int64_t size : spec.sizes) {
      most = std::max(most, size);
      for (std::size_t draw = 0; draw < draws_.size(); ++draw) alone(spec, draw, 0, size);
      alone(spec, 0, all - size, size);
    }
    if (draws_.size() < 2) return;
    // Among rows of another draw. What has no rows is the same only where both are the first's.
    Picks picks;
    for (std::int64_t row = 0; row < all; ++row) picks.emplace_back(row < most ? 0 : 1, row);
    add(spec, of_rows(spec, picks), fmt::format("other company for rows 0 to {}", most - 1),
        {{.count = most}});
  }

  void rows(const RelationSpec& spec) {
    draws();
    const std::int64_t all = rows_in(spec);
    for (std::size_t draw = 0; draw < draws_.size(); ++draw) {
      Picks picks;
      std::vector<RowRange> of;
      for (std::int64_t row = 0; row < all; ++row) {
        picks.emplace_back(draw, all - 1 - row);
        of.push_back({.at = row, .of = draws_[draw], .from = all - 1 - row});
      }
      add(spec, of_rows(spec, picks), fmt::format("the reverse order of {} rows", all),
          std::move(of));
    }
  }

  void layout(const RelationSpec& spec) {
    CallSpec call = calls()[0];
    for (InputSpec& input : call.inputs) {
      if (auto* tensor = std::get_if<TensorSpec>(&input.value); tensor != nullptr)
        *tensor = laid_out(*tensor, input.name, spec.layout);
    }
    add(spec, std::move(call), fmt::format("the layout `{}`", spec.layout), {});
  }

  RelatedCase result_;
  std::vector<std::size_t> draws_;
  std::deque<TensorSpec> drawn_;  ///< that `held_` points to, for calls move
  std::map<std::string, std::vector<Held>> held_;
};

}  // namespace

std::vector<std::string> layout_names() {
  return {std::string(kShifted), std::string(kTransposed), std::string(kChannelsLast)};
}

RelatedCase with_calls_of_relations(const Case& declared) { return Relating(declared).made(); }

std::string why_unrelated(const Case& declared) {
  if (declared.calls.size() != 1) return "it has several calls";
  if (declared.prepare) return "torch makes its inputs";
  if (declared.raises) return "it is about an error";
  if (declared.random) return "it draws random numbers";
  if (declared.program.backward) return "it has a backward";
  for (const InputSpec& input : declared.calls[0].inputs) {
    const auto* tensor = std::get_if<TensorSpec>(&input.value);
    if (tensor != nullptr && !is_plain(*tensor))
      return fmt::format("`{}` is no tensor of its own", input.name);
  }
  return "";
}

std::vector<RelationSpec> usual_relations(const Case& declared) {
  if (!declared.newer_lockstep.empty() || !why_unrelated(declared).empty()) return {};
  std::vector<RelationSpec> specs;
  RelationSpec batch{.kind = RelationKind::batch};
  std::int64_t rows = 0;
  for (const InputSpec& input : declared.calls[0].inputs) {
    const auto* tensor = std::get_if<TensorSpec>(&input.value);
    if (tensor == nullptr || tensor->shape.empty()) continue;
    if (rows == 0) rows = tensor->shape[0];
    if (tensor->shape[0] == rows) batch.inputs.emplace_back(input.name, 0);
  }
  if (rows > 1) {
    for (const std::int64_t size : {1, 3, 31}) {
      if (size < rows) batch.sizes.push_back(size);
    }
    specs.push_back(batch);
    batch.kind = RelationKind::rows;
    batch.sizes.clear();
    specs.push_back(batch);
  }
  if (rows > 0) specs.push_back({.kind = RelationKind::layout, .layout = std::string(kShifted)});
  for (const RelationKind kind :
       {RelationKind::again, RelationKind::process, RelationKind::threads})
    specs.push_back({.kind = kind});
  return specs;
}

std::optional<std::int64_t> along_of(const RelationOfCalls& relation, const std::string& output) {
  if (relation.outputs.empty()) return 0;
  for (const auto& [name, along] : relation.outputs) {
    if (name == output) return along;
  }
  return std::nullopt;
}

}  // namespace lockstep
