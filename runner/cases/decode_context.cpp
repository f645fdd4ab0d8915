#include "base/dtype.h"
#include "cases/decode.h"

namespace lockstep {

Json decode_context(Reader& reader, const Node& node) {
  Json context = Json::object();
  if (!reader.object(
          node, {"grad", "inference", "deterministic_algorithms", "autocast", "default_dtype"}))
    return context;
  const auto dtype_name = [&](const Node& value) -> std::optional<std::string> {
    const auto text = reader.text(value, "the name of a floating dtype");
    const Dtype* dtype = text ? find_dtype(*text) : nullptr;
    if (dtype != nullptr && dtype->is_floating()) return text;
    if (text) reader.mismatch(value, "the name of a floating dtype");
    return std::nullopt;
  };
  for (const std::string_view key : {"grad", "inference", "deterministic_algorithms"}) {
    if (const auto flag = reader.child(node, key))
      context[std::string(key)] = reader.boolean(*flag).value_or(false);
  }
  if (const auto autocast = reader.child(node, "autocast");
      autocast && reader.object(*autocast, {"device", "dtype"})) {
    const auto device = reader.required(*autocast, "device", "the kind of device, such as \"cpu\"");
    const auto dtype = reader.required(*autocast, "dtype", "the name of a dtype");
    const auto device_text = device ? reader.text(*device) : std::nullopt;
    if (device_text &&
        (device_text->empty() ||
         device_text->find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)) {
      reader.mismatch(*device, "the kind of device, such as \"cpu\"");
    }
    const auto dtype_text = dtype ? dtype_name(*dtype) : std::nullopt;
    if (device_text && dtype_text)
      context["autocast"] = {{"device", *device_text}, {"dtype", *dtype_text}};
  }
  if (const auto dtype = reader.child(node, "default_dtype")) {
    if (const auto name = dtype_name(*dtype)) context["default_dtype"] = *name;
  }
  return context;
}

}  // namespace lockstep
