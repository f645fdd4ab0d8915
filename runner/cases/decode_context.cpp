#include "base/dtype.h"
#include "cases/decode.h"

namespace lockstep {

Context decode_context(Reader& reader, const Node& node, ContextOf whose) {
  Context context;
  if (!reader.object(node, {"grad", "inference", "deterministic_algorithms", "autocast",
                            "default_dtype", "compiled", "thread"}))
    return context;
  const auto dtype_name = [&](const Node& value) -> std::optional<std::string> {
    auto text = reader.text(value, "the name of a floating dtype");
    const Dtype* dtype = text ? find_dtype(*text) : nullptr;
    if (dtype != nullptr && dtype->is_floating()) return text;
    if (text) reader.mismatch(value, "the name of a floating dtype");
    return std::nullopt;
  };
  const auto flag = [&](std::string_view key, std::optional<bool>& into) {
    if (const auto value = reader.child(node, key)) into = reader.boolean(*value).value_or(false);
  };
  flag("grad", context.grad);
  flag("inference", context.inference);
  flag("deterministic_algorithms", context.deterministic_algorithms);
  if (const auto autocast = reader.child(node, "autocast");
      autocast && reader.object(*autocast, {"device", "dtype", "enabled"})) {
    const auto device = reader.required(*autocast, "device", "the kind of device, such as \"cpu\"");
    const auto dtype = reader.required(*autocast, "dtype", "the name of a dtype");
    const auto device_text = device ? reader.text(*device) : std::nullopt;
    if (device_text &&
        (device_text->empty() ||
         device_text->find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)) {
      reader.mismatch(*device, "the kind of device, such as \"cpu\"");
    }
    const auto dtype_text = dtype ? dtype_name(*dtype) : std::nullopt;
    const auto enabled = reader.child(*autocast, "enabled");
    const bool on = !enabled || reader.boolean(*enabled).value_or(true);
    if (device_text && dtype_text) context.autocast = {*device_text, *dtype_text, on};
  }
  if (const auto dtype = reader.child(node, "default_dtype")) {
    if (const auto name = dtype_name(*dtype)) context.default_dtype = *name;
  }
  if (const auto compiled = reader.child(node, "compiled")) {
    if (whose != ContextOf::last_steps) {
      reader.error(
          compiled->pointer, "found `compiled`, which only the last of the steps may say",
          "end the steps of the case with {\"with\": {\"compiled\": false}, \"steps\": [...]}; "
          "what stands before is compiled");
    } else if (const auto value = reader.boolean(*compiled); value && *value) {
      reader.mismatch(*compiled, "false");
    } else {
      context.compiled = value;
    }
  }
  if (const auto thread = reader.child(node, "thread")) {
    if (whose != ContextOf::calls) {
      reader.error(thread->pointer,
                   "found `thread`, which only the context of the case, or of a call, may say",
                   "steps run in the thread of their call: say it in \"context\", or in \"calls\": "
                   "[{}, {\"context\": {\"thread\": true}}]");
    } else if (const auto value = reader.boolean(*thread); value && !*value) {
      reader.mismatch(*thread, "true",
                      "leave `thread` out: then the thread makes the call that makes the others");
    } else {
      context.thread = value.has_value();
    }
  }
  return context;
}

}  // namespace lockstep
