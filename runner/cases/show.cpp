#include "cases/show.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "base/text.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

// More elements than these are cut: the beginning says what a fill does.
constexpr std::int64_t kShownElements = 24;

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
  if (dtype.kind == NumberKind::signed_integer)
    return fmt::format("{}", decode_signed(dtype, bits));
  return dtype.kind == NumberKind::unsigned_integer ? fmt::format("{}", bits)
                                                    : fmt::format("0x{:x}", bits);
}

std::string show_fill(const TensorSpec& spec) {
  const auto* rule = std::get_if<RuleFill>(&spec.fill);
  if (const auto* file = std::get_if<FileFill>(&spec.fill)) return "values of " + file->name;
  if (rule == nullptr) return "values";
  std::string text(rule->rule->name);
  for (const auto& [name, value] : rule->parameters) text += fmt::format(" {}={}", name, value);
  if (rule->rule->seeded) text += fmt::format(" seed={}", rule->seed);
  if (!spec.except.empty()) text += fmt::format(", {} elements excepted", spec.except.size());
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
  if (spec.constant) text += " constant";
  if (spec.quantizer) {
    text += fmt::format(" {} scale {} zero point {}", spec.quantizer->scheme,
                        show_some(spec.quantizer->scales), show_some(spec.quantizer->zero_points));
  }
  if (!spec.view_of.empty()) return text + " view of " + spec.view_of + "\n";
  if (spec.zero_tensor) return text + "   zero tensor\n";
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
    head.except = spec.except;
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

/// What prints the literal tensors of a program.
LiteralText literal_text(const std::vector<TensorSpec>& literals) {
  return [&literals](std::size_t index) {
    const std::string shown = show_tensor("", literals[index]);
    std::string text = "tensor" + shown.substr(shown.find_first_not_of(' ') - 1);
    text.pop_back();
    return text;
  };
}

}  // namespace

std::string show_case(const Case& declared, const std::string& instance, WithSources sources) {
  std::string text = instance + "\n  " + declared.title + "\n";
  for (const std::string& link : declared.links) text += "  " + link + "\n";
  if (!declared.newer_lockstep.empty())
    return text + fmt::format("  needs Lockstep {}, this is {}\n", declared.newer_lockstep,
                              LOCKSTEP_VERSION);
  if (!declared.unverified.empty()) text += "  unverified: " + declared.unverified + "\n";
  if (!declared.requires_torch.empty())
    text += "  requires torch " + declared.requires_torch + "\n";
  if (declared.threads > 0) text += fmt::format("  on {} threads\n", declared.threads);
  if (declared.prepare) {
    text += fmt::format("\nprepare (seed {})\n", declared.prepare->seed);
    text += print(declared.prepare->program.steps, literal_text(declared.prepare->literals), "  ",
                  sources);
  }
  for (std::size_t i = 0; i < declared.calls.size(); ++i) {
    text += declared.calls.size() > 1 ? fmt::format("\ninputs of call {}", i + 1) : "\ninputs";
    const std::string within = print(declared.calls[i].context);
    text += within.empty() ? "\n" : ", with " + within + "\n";
    for (const InputSpec& input : declared.calls[i].inputs) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      text += tensor != nullptr
                  ? show_tensor(input.name, *tensor)
                  : fmt::format("  {:<8}{}\n", input.name, print(std::get<Value>(input.value)));
    }
  }
  text += "\nprogram\n" + print(declared.program, literal_text(declared.literals), sources);
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
