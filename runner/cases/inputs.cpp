#include "cases/inputs.h"

#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

/// Gives storages numbers and writes them.
class Writer {
 public:
  Writer(std::filesystem::path directory, Json& storages)
      : directory_(std::move(directory)), storages_(storages) {}

  /// Bytes that this machine cannot hold are refused before they are made.
  Result<int> write(const TensorSpec& spec, std::string_view name) {
    const auto bytes = static_cast<std::uintmax_t>(spec.storage_elements) *
                       static_cast<std::uintmax_t>(spec.dtype->bytes);
    std::error_code unknown;
    const std::filesystem::space_info space = std::filesystem::space(directory_, unknown);
    if (!unknown && bytes > space.available) {
      return fail(fmt::format("`{}` needs {} bytes, but {} has {} free", name, bytes,
                              directory_.string(), space.available));
    }
    return write(storage_bytes(spec, name));
  }

  Result<int> write(std::span<const std::byte> bytes) {
    const auto index = static_cast<int>(storages_.size());
    const std::filesystem::path file = directory_ / std::to_string(index);
    auto written = write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!written) return tl::unexpected(written.error());
    storages_.push_back({{"file", file.string()}, {"bytes", bytes.size()}});
    return index;
  }

 private:
  std::filesystem::path directory_;
  Json& storages_;
};

Json quantizer_json(const Quantizer& quantizer) {
  Json scales = Json::array();
  for (const double scale : quantizer.scales) scales.push_back(value_to_json({Float{scale}}));
  Json json = {{"scheme", quantizer.scheme},
               {"scales", std::move(scales)},
               {"zero_points", quantizer.zero_points}};
  if (quantizer.scheme.starts_with("per_channel")) json["axis"] = quantizer.axis;
  return json;
}

Json view_json(const TensorSpec& spec, int storage) {
  Json view = {{"storage", storage},    {"dtype", spec.dtype->name},
               {"shape", spec.shape},   {"strides", spec.strides},
               {"offset", spec.offset}, {"requires_grad", spec.requires_grad}};
  if (spec.conj) view["conj"] = true;
  if (spec.neg) view["neg"] = true;
  if (spec.zero_tensor) view["zero_tensor"] = true;
  if (spec.quantizer) view["quantizer"] = quantizer_json(*spec.quantizer);
  return view;
}

Json view_json(const TensorView& tensor, int storage, bool requires_grad) {
  Json view = {{"storage", storage},      {"dtype", tensor.dtype->name},
               {"shape", tensor.shape},   {"strides", tensor.strides},
               {"offset", tensor.offset}, {"requires_grad", requires_grad}};
  if (tensor.conj) view["conj"] = true;
  if (tensor.neg) view["neg"] = true;
  if (tensor.quantizer) view["quantizer"] = quantizer_json(*tensor.quantizer);
  return view;
}

/// Writes the literal tensors of a program.
Result<void> add_literals(Writer& writer, const std::vector<TensorSpec>& literals, InputSet& set) {
  for (const TensorSpec& literal : literals) {
    auto storage = writer.write(literal, "literal " + std::to_string(set.literals.size()));
    if (!storage) return tl::unexpected(storage.error());
    set.literals.push_back(view_json(literal, *storage));
  }
  return {};
}

}  // namespace

Result<InputSet> write_inputs(const Case& declared, const std::filesystem::path& directory,
                              const Observation* prepared) {
  InputSet set;
  set.program = declared.program;
  Writer writer(directory, set.storages);

  Json shared = Json::object();  // what `prepare` made: the same for every call
  if (prepared != nullptr) {
    std::map<int, int> numbers;
    for (const auto& [name, value] : prepared->repetitions.at(0).at(0).outputs) {
      const auto* tensor = std::get_if<TensorView>(&value);
      if (tensor == nullptr)
        return fail(fmt::format("`prepare` gives `{}`, which is no tensor", name));
      if (!numbers.contains(tensor->storage)) {
        auto storage = writer.write(tensor->bytes);
        if (!storage) return tl::unexpected(storage.error());
        numbers[tensor->storage] = *storage;
      }
      const auto& with_grad = declared.prepare->requires_grad;
      const bool requires_grad =
          std::find(with_grad.begin(), with_grad.end(), name) != with_grad.end();
      shared[name] = view_json(*tensor, numbers[tensor->storage], requires_grad);
    }
  }

  for (const CallSpec& call : declared.calls) {
    Json inputs = shared;
    std::map<std::string, int> storage_of;
    for (const InputSpec& input : call.inputs) {
      const auto* spec = std::get_if<TensorSpec>(&input.value);
      if (spec == nullptr) {
        inputs[input.name] = value_to_json(std::get<Value>(input.value));
        continue;
      }
      if (spec->view_of.empty()) {
        auto storage = writer.write(*spec, input.name);
        if (!storage) return tl::unexpected(storage.error());
        storage_of[input.name] = *storage;
      } else {
        storage_of[input.name] = storage_of.at(spec->view_of);
      }
      inputs[input.name] = view_json(*spec, storage_of[input.name]);
    }
    set.calls.push_back({{"inputs", inputs}});
    if (call.context != Context()) set.calls.back()["context"] = context_to_json(call.context);
  }
  if (auto added = add_literals(writer, declared.literals, set); !added)
    return tl::unexpected(added.error());
  return set;
}

Result<Inputs> read_inputs(const std::filesystem::path& directory, const InputSet& set) {
  Json storages = Json::array();
  for (const Json& storage : set.storages) {
    const std::filesystem::path file = storage["file"].get<std::string>();
    storages.push_back({{"file", file.filename().string()}, {"bytes", storage["bytes"]}});
  }
  return read_calls(directory, storages, set.calls);
}

Result<InputSet> write_prepare_inputs(const PrepareSpec& prepare,
                                      const std::filesystem::path& directory) {
  InputSet set;
  set.program = prepare.program;
  set.calls.push_back({{"inputs", Json::object()}});
  Writer writer(directory, set.storages);
  if (auto added = add_literals(writer, prepare.literals, set); !added)
    return tl::unexpected(added.error());
  return set;
}

}  // namespace lockstep
