#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/relations.h"

namespace lockstep {
namespace {

/// More rows than these are no batch, but a program of their own.
constexpr std::int64_t kMostRows = 1 << 20;

/// Decodes the list `relations` of a case that is known otherwise.
class RelationsDecoder {
 public:
  RelationsDecoder(Reader& reader, const Case& declared, const std::set<std::string>& outputs)
      : reader_(reader), declared_(declared), outputs_(outputs) {}

  std::vector<RelationSpec> decode(const Node& node) {
    if (!reader_.list(node, "a list of relations such as \"again\" or {\"batch\": {\"x\": 0}}"))
      return {};
    if (const std::string why = why_unrelated(declared_); !why.empty()) {
      reader_.error(node.pointer, fmt::format("found `relations`, but {}", why),
                    "they are asked of cases of one call, by the calls that they add", true);
      return {};
    }
    for (std::size_t i = 0; i < node->size(); ++i) relation(reader_.element(node, i));
    return std::move(result_);
  }

 private:
  void relation(const Node& node) {
    if (node->is_string()) {
      if (const auto name = reader_.word(node, {"again", "process", "threads"}, "a relation"))
        result_.push_back({.kind = *find_relation(*name)});
      return;
    }
    const int before = reader_.failures();
    if (!reader_.object(node, {"batch", "rows", "layout", "sizes", "of"})) return;
    RelationSpec spec;
    int kinds = 0;
    for (const RelationKind kind :
         {RelationKind::batch, RelationKind::rows, RelationKind::layout}) {
      const auto value = reader_.child(node, name_of(kind));
      if (!value) continue;
      ++kinds;
      spec.kind = kind;
      if (kind == RelationKind::layout) {
        spec.layout = reader_.word(*value, layout_names(), "a layout").value_or("");
      } else {
        inputs(*value, spec);
      }
    }
    if (kinds != 1)
      reader_.mismatch(node, "one of `batch`, `rows` and `layout`",
                       "{\"batch\": {\"x\": 0}, \"sizes\": [1, 3]}");
    if (spec.kind == RelationKind::batch) {
      if (const auto sizes = reader_.required(node, "sizes", "how many rows come alone"))
        read_sizes(*sizes, spec);
    } else if (const auto sizes = reader_.child(node, "sizes")) {
      reader_.error(sizes->pointer, "found `sizes`, which only `batch` has", "", true);
    }
    if (const auto of = reader_.child(node, "of")) outputs(*of, spec);
    if (reader_.failures() == before) result_.push_back(std::move(spec));
  }

  const TensorSpec* tensor_of(const std::string& name) const {
    for (const InputSpec& input : declared_.calls[0].inputs) {
      if (input.name == name) return std::get_if<TensorSpec>(&input.value);
    }
    return nullptr;
  }

  /// {"x": 0}: the inputs that have rows, and along which dimension.
  void inputs(const Node& node, RelationSpec& spec) {
    if (!node->is_object() || node->empty())
      return reader_.mismatch(node, "an object: an input, and the dimension of its rows");
    for (const auto& [name, value] : node->items()) {
      const Node along{&value, child_pointer(node.pointer, name)};
      const TensorSpec* tensor = tensor_of(name);
      if (tensor == nullptr) {
        reader_.error(
            along.pointer,
            fmt::format("found `{}`, expected an input that is a tensor", one_line(name, 60)),
            suggestion(name, declared_.program.inputs), true);
        continue;
      }
      const auto dimensions = static_cast<std::int64_t>(tensor->shape.size());
      const auto dimension = reader_.integer(along, 0, dimensions - 1, "a dimension of it");
      if (!dimension) continue;
      const std::int64_t rows = tensor->shape[static_cast<std::size_t>(*dimension)];
      if (spec.inputs.empty()) rows_ = rows;
      if (rows < 2 || rows > kMostRows || rows != rows_)
        reader_.error(along.pointer,
                      fmt::format("`{}` has {} rows, expected {}", name, rows,
                                  rows == rows_ ? fmt::format("2 to {}", kMostRows)
                                                : fmt::format("{} as the first", rows_)));
      spec.inputs.emplace_back(name, *dimension);
    }
  }

  void read_sizes(const Node& node, RelationSpec& spec) {
    if (!reader_.list(node, "a list of numbers of rows")) return;
    constexpr std::size_t kMost = 8;
    if (node->empty() || node->size() > kMost)
      return reader_.mismatch(node, fmt::format("1 to {} numbers of rows", kMost));
    for (std::size_t i = 0; i < node->size(); ++i) {
      const auto size =
          reader_.integer(reader_.element(node, i), 1, std::max<std::int64_t>(rows_ - 1, 1),
                          "fewer rows than there are, and at least 1");
      if (size) spec.sizes.push_back(*size);
    }
  }

  /// ["y"], whose rows lie along the first dimension, or {"y": 1}.
  void outputs(const Node& node, RelationSpec& spec) {
    const auto output = [&](const Node& at, const std::string& name, std::int64_t along) {
      if (outputs_.contains(name)) {
        spec.of.emplace_back(name, along);
      } else {
        reader_.error(at.pointer, fmt::format("found `{}`, expected an output", one_line(name, 60)),
                      suggestion(name, std::vector<std::string>(outputs_.begin(), outputs_.end())));
      }
    };
    if (!node->is_object()) {
      for (const std::string& name : reader_.texts(node, "a list of outputs"))
        output(node, name, 0);
      return;
    }
    constexpr std::int64_t kMostDimensions = 63;
    for (const auto& [name, value] : node->items()) {
      const Node along{&value, child_pointer(node.pointer, name)};
      if (const auto at = reader_.integer(along, 0, kMostDimensions, "a dimension"))
        output(along, name, *at);
    }
  }

  Reader& reader_;
  const Case& declared_;
  const std::set<std::string>& outputs_;
  std::int64_t rows_ = 2;  ///< of the inputs of the relation at hand
  std::vector<RelationSpec> result_;
};

}  // namespace

std::vector<RelationSpec> decode_relations(Reader& reader, const Node& node, const Case& declared,
                                           const std::set<std::string>& outputs) {
  return RelationsDecoder(reader, declared, outputs).decode(node);
}

}  // namespace lockstep
