#include "wire/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/block_digest.h"
#include "base/text.h"

namespace lockstep::wire {
namespace {

/// Elements of a view that shows parts of its storage more than once.  Windows of a real program
/// stay far below; what is above has no memory behind it that would bound the judge's time.
constexpr std::int64_t kMostOverlapping = std::int64_t{1} << 31;
constexpr std::size_t kMostStorages = 1 << 14;
constexpr std::size_t kMostDimensions = 64;
/// The most values of one group, and of a document: the judge looks up each among the others.
constexpr std::size_t kMostOfAGroup = 1 << 12;
constexpr std::size_t kMostValues = 1 << 16;

ScalarValue read_scalar(const JsonAt& node) {
  const Json& json = node.json;
  if (json.is_null()) return std::monostate{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return node.integer();
  if (json.is_object()) {
    if (json.contains("float")) return node.at("float").hexadecimal();
    if (json.contains("str")) return node.at("str").bounded_text();
    if (json.contains("complex")) {
      const JsonAt parts = node.at("complex");
      if (parts.array() != 2) parts.wrong("two floats");
      return std::complex<double>(parts.at(std::size_t{0}).hexadecimal(),
                                  parts.at(std::size_t{1}).hexadecimal());
    }
  }
  node.wrong("a view, a scalar value or a list of these");
}

std::vector<std::int64_t> read_counts(const JsonAt& node, std::size_t most) {
  if (node.array() > most) broken(node.where, fmt::format("more than {} entries", most));
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < node.json.size(); ++i) values.push_back(node.at(i).count());
  return values;
}

Quantizer read_quantizer(const JsonAt& node, const std::vector<std::int64_t>& shape) {
  Quantizer quantizer;
  quantizer.scheme = node.object().at("scheme").string();
  const JsonAt scales = node.at("scales");
  const JsonAt zeros = node.at("zero_points");
  if (scales.array() != zeros.array()) node.wrong("as many scales as zero points");
  for (std::size_t i = 0; i < scales.json.size(); ++i) {
    const JsonAt scale = scales.at(i);
    quantizer.scales.push_back(scale.json.is_object() ? scale.at("float").hexadecimal()
                                                      : scale.number());
    quantizer.zero_points.push_back(zeros.at(i).integer());
  }
  if (node.has("axis")) quantizer.axis = node.at("axis").integer();
  if (quantizer.scales.size() != 1) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (quantizer.axis < 0 || quantizer.axis >= rank ||
        !std::cmp_equal(quantizer.scales.size(), shape[static_cast<std::size_t>(quantizer.axis)])) {
      node.wrong("one scale, or one for each index along the axis");
    }
  }
  return quantizer;
}

/// The file in `directory` that a storage names.
std::shared_ptr<const FileCopy> open_storage(const JsonAt& node,
                                             const std::filesystem::path& directory) {
  const std::string name = node.at("file").string();
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    node.at("file").wrong("a plain file name");
  }
  auto file = FileCopy::open(directory / name);
  if (!file) broken(node.where, file.error().message);
  return std::move(*file);
}

/// Numbers of blocks of a storage, each greater than the one before.
std::vector<std::uint64_t> read_blocks(const JsonAt& node, std::size_t bytes) {
  const std::uint64_t there = digest_blocks(bytes);
  std::vector<std::uint64_t> blocks;
  for (std::size_t i = 0; i < node.array(); ++i) {
    const auto block = static_cast<std::uint64_t>(node.at(i).count());
    if (block >= there || (!blocks.empty() && block <= blocks.back()))
      node.at(i).wrong(fmt::format("one of {} blocks, each after the one before", there));
    blocks.push_back(block);
  }
  return blocks;
}

/// How many elements of the view the judge looks at: those along expanded dimensions once.
std::int64_t looked_at(const TensorView& view) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.strides[d] != 0 || view.shape[d] == 0) elements *= view.shape[d];
  }
  return elements;
}

}  // namespace

Values::Values(const JsonAt& storages, const std::filesystem::path& directory,
               const HeldStorages& held) {
  if (storages.array() > kMostStorages) {
    broken(storages.where, fmt::format("more than {} storages", kMostStorages));
  }
  for (std::size_t i = 0; i < storages.json.size(); ++i) {
    const JsonAt storage = storages.at(i);
    if (storage.object().has("same")) {
      add_alike(storage, directory, held);
    } else {
      add_file(storage, directory);
    }
  }
}

void Values::add_file(const JsonAt& node, const std::filesystem::path& directory) {
  const std::int64_t claimed = node.at("bytes").count();
  auto file = open_storage(node, directory);
  const std::span<const std::byte> all = file->bytes();
  if (std::cmp_less(all.size(), claimed)) {
    broken(node.where, fmt::format("{} bytes claimed, the file has {}", claimed, all.size()));
  }
  bytes_.push_back(all.first(static_cast<std::size_t>(claimed)));
  files_.push_back(std::move(file));
}

/// A storage that is the same as another one but for some blocks.
void Values::add_alike(const JsonAt& node, const std::filesystem::path& directory,
                       const HeldStorages& held) {
  const JsonAt same = node.at("same").object();
  const bool is_held = same.has("held");
  if (is_held == same.has("storage")) same.wrong("either `held` or `storage`");
  const JsonAt which = same.at(is_held ? "held" : "storage");
  const std::int64_t index = which.count();
  if (const std::size_t there = is_held ? held.size() : files_.size();
      !std::cmp_less(index, there)) {
    broken(which.where, fmt::format("{} of {} that there are before it", index, there));
  }
  const auto at = static_cast<std::size_t>(index);
  const std::span<const std::byte> like = is_held ? held[at]->file()->bytes() : bytes_[at];
  if (const std::int64_t claimed = node.at("bytes").count();
      !std::cmp_equal(claimed, like.size())) {
    broken(node.where,
           fmt::format("{} bytes, which cannot be the same as {} bytes", claimed, like.size()));
  }
  const std::vector<std::uint64_t> blocks = read_blocks(node.at("blocks"), like.size());
  if (blocks.empty()) {
    files_.push_back(is_held ? held[at]->file() : files_[at]);
    bytes_.push_back(like);
    return;
  }
  const auto file = open_storage(node, directory);
  std::span<const std::byte> sent = file->bytes();
  std::vector<FileCopy::Patch> patches;
  for (const std::uint64_t block : blocks) {
    const std::size_t begin = block * kDigestBlock;
    const std::size_t size = std::min<std::size_t>(kDigestBlock, like.size() - begin);
    if (sent.size() < size) broken(node.where, "its file is shorter than its blocks");
    patches.push_back({begin, sent.first(size)});
    sent = sent.subspan(size);
  }
  if (!sent.empty()) broken(node.where, "its file is longer than its blocks");
  auto whole = FileCopy::patched(like, patches);
  if (!whole) broken(node.where, whole.error().message);
  bytes_.push_back((*whole)->bytes());
  files_.push_back(std::move(*whole));
}

std::span<const std::byte> Values::bytes(const JsonAt& index) const {
  const std::int64_t at = index.integer();
  if (at < 0 || !std::cmp_less(at, bytes_.size())) {
    broken(index.where, fmt::format("storage {} of {}", at, bytes_.size()));
  }
  return bytes_[static_cast<std::size_t>(at)];
}

TensorView Values::read_view(const JsonAt& node) const {
  TensorView view;
  const JsonAt storage = node.at("storage");
  view.bytes = bytes(storage);
  view.storage = static_cast<int>(storage.integer());
  const std::string dtype = node.at("dtype").string();
  view.dtype = find_dtype(dtype);
  if (view.dtype == nullptr) {
    broken(node.where, fmt::format("unknown dtype '{}'", one_line(dtype, 60)));
  }
  view.shape = read_counts(node.at("shape"), kMostDimensions);
  view.strides = read_counts(node.at("strides"), kMostDimensions);
  if (view.shape.size() != view.strides.size()) {
    broken(node.where,
           fmt::format("{} sizes but {} strides", view.shape.size(), view.strides.size()));
  }
  if (node.has("offset")) view.offset = node.at("offset").count();
  if (node.has("device")) view.device = node.at("device").string();
  if (node.has("layout")) view.layout = node.at("layout").string();
  if (node.has("requires_grad")) view.requires_grad = node.at("requires_grad").boolean();
  if (node.has("conj")) view.conj = node.at("conj").boolean();
  if (node.has("neg")) view.neg = node.at("neg").boolean();
  if (node.has("is")) view.is = node.at("is").string();
  if (node.has("quantizer")) view.quantizer = read_quantizer(node.at("quantizer"), view.shape);
  if (!fits_storage(view)) {
    broken(node.where, fmt::format("the view {} with strides [{}] and offset {} leaves its storage "
                                   "of {} bytes",
                                   describe(view), fmt::join(view.strides, ", "), view.offset,
                                   view.bytes.size()));
  }
  const std::int64_t elements = looked_at(view);
  if (elements > kMostOverlapping &&
      std::cmp_greater(elements, view.bytes.size() / static_cast<std::size_t>(view.dtype->bytes))) {
    broken(node.where,
           fmt::format("the view {} with strides [{}] shows {} elements of a storage of {} bytes",
                       describe(view), fmt::join(view.strides, ", "), elements, view.bytes.size()));
  }
  return view;
}

void Values::read_value(const JsonAt& value, std::string name, NamedValues& values) {
  if (values.size() >= kMostOfAGroup || ++values_ > kMostValues) {
    broken(value.where,
           fmt::format("more than {} values by name, or {} in all", kMostOfAGroup, kMostValues));
  }
  if (value.json.is_array()) {
    values.emplace_back(name, ListOf{value.json.size()});
    for (std::size_t i = 0; i < value.json.size(); ++i)
      read_value(value.at(i), fmt::format("{}[{}]", name, i), values);
  } else if (value.json.is_object() && value.json.contains("storage")) {
    values.emplace_back(std::move(name), read_view(value));
  } else {
    values.emplace_back(std::move(name), read_scalar(value));
  }
}

NamedValues Values::read(const JsonAt& node) {
  NamedValues values;
  node.object();
  for (const auto& [name, json] : node.json.items()) {
    // Brackets are those of elements of lists: nothing may pass for one.
    if (name.size() > JsonAt::kLongestWord || name.find('[') != std::string::npos)
      broken(node.where, fmt::format("'{}' is no name of a value", one_line(name, 60)));
    read_value({json, child_pointer(node.where, name)}, name, values);
  }
  return values;
}

}  // namespace lockstep::wire
