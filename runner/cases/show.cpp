#include "cases/show.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

// More elements than these are cut: the beginning says what a fill does.
constexpr std::int64_t kShownElements = 24;

std::string show_float(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value)) return text;
  const std::string shown = fmt::format("{}", value);
  return shown.find_first_of(".e") == std::string::npos ? shown + ".0" : shown;
}

std::string show_list(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : ", ") + show_value(item);
  return text;
}

std::string show_slice_part(const Json& value) { return value.is_null() ? "" : show_value(value); }

std::string show_index(const Json& items) {
  std::string text;
  for (const Json& item : items) {
    if (!text.empty()) text += ", ";
    if (item.is_object() && item.contains("ellipsis")) {
      text += "...";
    } else if (item.is_object() && item.contains("newaxis")) {
      text += "None";
    } else if (item.is_object() && item.contains("slice")) {
      const Json& parts = item["slice"];
      text += show_slice_part(parts[0]) + ":" + show_slice_part(parts[1]);
      if (!parts[2].is_null()) text += ":" + show_slice_part(parts[2]);
    } else {
      text += show_value(item);
    }
  }
  return text;
}

std::string show_arguments(const Json& step) {
  std::string text = show_list(step["args"]);
  for (const auto& [name, value] : step["kwargs"].items())
    text += (text.empty() ? "" : ", ") + name + "=" + show_value(value);
  return "(" + text + ")";
}

std::string show_context(const Json& context) {
  std::string text;
  for (const auto& [name, value] : context.items()) {
    text += (text.empty() ? "" : ", ") + name + "=";
    text += value.is_object()   ? fmt::format("{} {}", value["device"].get<std::string>(),
                                              value["dtype"].get<std::string>())
            : value.is_string() ? value.get<std::string>()
                                : value.dump();
  }
  return text;
}

double part_value(const Dtype& dtype, const std::byte* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<std::size_t>(dtype.bytes));
  return decode_float(dtype, bits);
}

std::string show_element(const Dtype& dtype, const std::byte* bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<std::size_t>(std::min(dtype.bytes, 8)));
  if (dtype.kind == NumberKind::boolean) return bits != 0 ? "true" : "false";
  if (dtype.is_floating()) {
    const double value = decode_float(dtype, bits);
    return dtype.bytes <= 4 ? fmt::format("{}", static_cast<float>(value))
                            : fmt::format("{}", value);
  }
  if (dtype.is_complex()) {
    const Dtype& part = *find_dtype(dtype.part);
    return fmt::format("{}{:+}j", part_value(part, bytes), part_value(part, bytes + part.bytes));
  }
  if (dtype.kind == NumberKind::signed_integer) {
    const int unused = 64 - dtype.bytes * 8;
    return fmt::format("{}", static_cast<std::int64_t>(bits << unused) >> unused);
  }
  return dtype.kind == NumberKind::unsigned_integer ? fmt::format("{}", bits)
                                                    : fmt::format("0x{:x}", bits);
}

std::string show_fill(const TensorSpec& spec) {
  const auto* rule = std::get_if<RuleFill>(&spec.fill);
  if (rule == nullptr) return "values";
  std::string text(rule->rule->name);
  for (const auto& [name, value] : rule->parameters) text += fmt::format(" {}={}", name, value);
  if (rule->rule->seeded) text += fmt::format(" seed={}", rule->seed);
  return text;
}

template <class T>
std::string show_some(const std::vector<T>& numbers) {
  const std::size_t shown = std::min(numbers.size(), static_cast<std::size_t>(kShownElements));
  return fmt::format("{}{}",
                     fmt::join(numbers.begin(), numbers.begin() + static_cast<long>(shown), ", "),
                     shown < numbers.size() ? ", ..." : "");
}

std::string show_tensor(const std::string& name, const TensorSpec& spec) {
  std::string text =
      fmt::format("  {:<8}{}[{}]", name, spec.dtype->name, fmt::join(spec.shape, ", "));
  if (spec.storage_elements != 0)
    text += fmt::format(" strides [{}]", fmt::join(spec.strides, ", "));
  if (spec.offset != 0) text += fmt::format(" offset {}", spec.offset);
  if (spec.requires_grad) text += " requires_grad";
  if (spec.conj) text += " conj";
  if (spec.neg) text += " neg";
  if (spec.quantizer) {
    text += fmt::format(" {} scale {} zero point {}", spec.quantizer->scheme,
                        show_some(spec.quantizer->scales), show_some(spec.quantizer->zero_points));
  }
  if (!spec.view_of.empty()) return text + " view of " + spec.view_of + "\n";
  text += "   " + show_fill(spec) + "\n";
  TensorSpec head;  // what storage_bytes reads, without the literal elements that are not shown
  head.dtype = spec.dtype;
  head.storage_elements = spec.storage_elements;
  if (const auto* literal = std::get_if<LiteralFill>(&spec.fill)) {
    const auto shown = std::min(literal->elements.size(), static_cast<std::size_t>(kShownElements));
    head.fill = LiteralFill{{literal->elements.begin(),
                             literal->elements.begin() + static_cast<std::ptrdiff_t>(shown)}};
  } else {
    head.fill = spec.fill;
  }
  const auto* made = std::get_if<RuleFill>(&spec.fill);
  const bool whole = made != nullptr && made->rule->whole;
  if (!whole) head.storage_elements = std::min(spec.storage_elements, kShownElements);
  if (whole && spec.storage_elements > (1 << 20)) return text;
  const std::vector<std::byte> bytes = storage_bytes(head, name);
  std::string elements;
  for (std::int64_t k = 0; k < std::min(spec.storage_elements, kShownElements); ++k) {
    elements +=
        (k > 0 ? ", " : "") + show_element(*spec.dtype, bytes.data() + k * spec.dtype->bytes);
  }
  if (spec.storage_elements > kShownElements)
    elements += fmt::format(", ... {} in all", spec.storage_elements);
  return text + "          storage: " + elements + "\n";
}

void show_steps(const Json& steps, const std::vector<TensorSpec>& literals,
                const std::string& indent, std::string& text) {
  for (const Json& step : steps) {
    std::string names;
    for (const Json& name : step.value("let", Json::array()))
      names += (names.empty() ? "" : ", ") + (name.is_null() ? "_" : name.get<std::string>());
    text += indent + (names.empty() ? "" : names + " = ");
    if (step.contains("op")) {
      text += step["op"].get<std::string>() + show_arguments(step);
    } else if (step.contains("call")) {
      text += step["call"].get<std::string>() + show_arguments(step);
    } else if (step.contains("tensor")) {
      const TensorSpec& literal = literals[step["tensor"]["literal"].get<std::size_t>()];
      std::string shown = show_tensor("", literal);
      text += "tensor" + shown.substr(shown.find_first_not_of(' ') - 1);
      text.pop_back();
    } else if (step.contains("get")) {
      text += show_value(step["get"]) + "[" + show_index(step["index"]) + "]";
    } else if (step.contains("set")) {
      text += show_value(step["set"]) + "[" + show_index(step["index"]) +
              "] = " + show_value(step["to"]);
    } else if (step.contains("scalar")) {
      text += step["scalar"][0].get<std::string>() + "(" +
              show_list(Json(step["scalar"].begin() + 1, step["scalar"].end())) + ")";
    } else if (step.contains("grad")) {
      text += fmt::format("grad(of=[{}], wrt=[{}])", show_list(step["grad"]["of"]),
                          show_list(step["grad"]["wrt"]));
    } else if (step.contains("with")) {
      text += "with " + show_context(step["with"]) + ":\n";
      show_steps(step["steps"], literals, indent + "  ", text);
      continue;
    }
    text += "\n";
  }
}

}  // namespace

std::string show_value(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_array()) return "[" + show_list(value) + "]";
  if (!value.is_object()) return value.dump();
  const std::string& kind = value.begin().key();
  const Json& inner = value.begin().value();
  if (kind == "ref") return inner.get<std::string>();
  if (kind == "float") return show_float(inner.get<std::string>());
  if (kind == "complex")
    return "(" + show_float(inner[0].get<std::string>()) + " + " +
           show_float(inner[1].get<std::string>()) + "j)";
  if (kind == "str") return inner.dump(-1, ' ', false, Json::error_handler_t::replace);
  return inner.get<std::string>();
}

std::string show_case(const Case& declared, const std::string& instance) {
  std::string text = instance + "\n  " + declared.title + "\n";
  for (const std::string& link : declared.links) text += "  " + link + "\n";
  if (!declared.requires_torch.empty())
    text += "  requires torch " + declared.requires_torch + "\n";
  if (declared.prepare) {
    text += fmt::format("\nprepare (seed {})\n", declared.prepare->seed);
    show_steps(declared.prepare->program["steps"], declared.prepare->literals, "  ", text);
  }
  for (std::size_t i = 0; i < declared.calls.size(); ++i) {
    text += declared.calls.size() > 1 ? fmt::format("\ninputs of call {}\n", i + 1) : "\ninputs\n";
    for (const InputSpec& input : declared.calls[i].inputs) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      text += tensor != nullptr
                  ? show_tensor(input.name, *tensor)
                  : fmt::format("  {:<8}{}\n", input.name, show_value(std::get<Json>(input.value)));
    }
  }
  text += "\nprogram\n";
  if (!declared.program["context"].empty())
    text += "  with " + show_context(declared.program["context"]) + ":\n";
  show_steps(declared.program["steps"], declared.literals,
             declared.program["context"].empty() ? "  " : "    ", text);
  std::string outputs;
  for (const Json& name : declared.program["outputs"])
    outputs += (outputs.empty() ? "" : ", ") + name.get<std::string>();
  text += "  return " + outputs + "\n";
  if (!declared.program["backward"].is_null())
    text += "  backward of " + declared.program["backward"]["of"].dump() + "\n";
  if (!declared.compare.empty()) text += "\ncompare\n";
  for (const CompareRule& rule : declared.compare) {
    text += fmt::format("  {:<8}{}{}\n", rule.output, to_string(rule.policy),
                        rule.path == "*" ? "" : " on " + rule.path);
  }
  if (declared.raises)
    text += fmt::format("\nraises {} {}\n", declared.raises->class_name, declared.raises->match);
  return text;
}

}  // namespace lockstep
