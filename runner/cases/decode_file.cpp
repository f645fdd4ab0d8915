#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "cases/decode.h"
#include "cases/write.h"

namespace lockstep {
namespace {

/// What an exception may be, as `values` spells it.
constexpr std::array kExceptions = {"nan", "inf", "-inf", "-0.0"};

}  // namespace

void decode_file(Reader& reader, const Node& node, TensorSpec& spec) {
  const auto name = reader.text(node, "the name of a file of values");
  if (!name) return;
  if (!names_values(*name)) {
    return reader.mismatch(
        node, "64 hexadecimal digits, the SHA-256 of the file, and `.bin`",
        fmt::format("it lies in the folder `{}` beside the case", kValuesFolder));
  }
  const auto& place = reader.file().place;
  if (!place) {
    reader.error(node.pointer, "found `file` in a case that is no file, so nothing lies beside it",
                 "write the case to a file, or its elements as `values`");
    return;
  }
  auto bytes = place->files->read(
      place->folder, *name, static_cast<std::size_t>(spec.storage_elements * spec.dtype->bytes));
  if (!bytes) return reader.error(node.pointer, bytes.error().message, bytes.error().hint);
  spec.fill = FileFill{*place, *name, std::move(*bytes)};
}

void decode_except(Reader& reader, const Node& node, TensorSpec& spec) {
  if (!reader.object(node, {"nan", "inf", "-inf", "-0.0"})) return;
  if (!spec.dtype->is_floating()) {
    reader.error(node.pointer,
                 fmt::format("found `except` on {}: only floating dtypes have such elements",
                             spec.dtype->name),
                 "", true);
    return;
  }
  std::map<std::uint64_t, ElementBits> places;
  for (const char* word : kExceptions) {
    const auto list = reader.child(node, word);
    if (!list || !reader.list(*list, "a list of places in the storage")) continue;
    const Json spelled = word;
    const auto bits = decode_element(reader, {&spelled, list->pointer}, *spec.dtype);
    if (bits && element_to_json(*spec.dtype, *bits) != spelled) {
      reader.error(list->pointer,
                   fmt::format("found `{}`, which {} does not have", word, spec.dtype->name));
      continue;
    }
    for (std::size_t i = 0; i < (*list)->size(); ++i) {
      const Node each = reader.element(*list, i);
      const auto place =
          reader.integer(each, 0, spec.storage_elements - 1,
                         fmt::format("the place of one of {} elements", spec.storage_elements));
      if (!place || !bits) continue;
      if (!places.emplace(static_cast<std::uint64_t>(*place), *bits).second)
        reader.error(each.pointer, fmt::format("found the place {} for the second time", *place));
    }
  }
  spec.except.assign(places.begin(), places.end());
}

}  // namespace lockstep
