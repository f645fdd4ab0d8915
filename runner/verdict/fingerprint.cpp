#include "verdict/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostOperators = 3;
constexpr std::size_t kMostWords = 8;
constexpr std::size_t kLongestWord = 60;  ///< what is longer is no word of a person
constexpr std::string_view kGradient = "-gradient";

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// "aten::add_.Tensor" is "add", "torch.nn.functional.relu" "relu", "torch.linalg.cond"
/// "linalg_cond" as aten spells it.
std::string base_name(std::string_view name) {
  std::string base;
  if (const std::size_t colons = name.find("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
    base = name.substr(0, name.find('.'));
  } else {
    const std::size_t dot = name.rfind('.');
    const std::string_view module = name.substr(0, dot == std::string_view::npos ? 0 : dot);
    base = name.substr(dot == std::string_view::npos ? 0 : dot + 1);
    for (const std::string_view part : {"linalg", "special", "fft"}) {
      if (module.ends_with(part)) base = fmt::format("{}_{}", part, base);
    }
  }
  if (base.size() > 1 && base.ends_with('_') && !base.ends_with("__")) base.pop_back();
  return base;
}

/// "torch._dynamo.exc.Unsupported" is "Unsupported".
std::string class_of(const RaisedError& error) {
  return one_line(std::string_view(error.class_name).substr(error.class_name.rfind('.') + 1),
                  kLongestWord);
}

/// The first words of a message, without what changes from case to case: quoted text, paths,
/// numbers, and names that have a number.  Of a compiler's output its first error.
std::string words_of(std::string_view message) {
  if (const std::size_t error = message.find(" error: "); error != std::string_view::npos)
    message.remove_prefix(error + 1);
  message.remove_prefix(std::min(message.find_first_not_of(" \t\r\n"), message.size()));
  message = message.substr(0, message.find('\n'));
  std::string result, word;
  std::size_t words = 0;
  bool clean = true;  // the word has neither a digit nor a slash
  char quote = 0;
  const auto finish = [&] {
    if (clean && word.size() > 1 && word.size() <= kLongestWord && words < kMostWords) {
      result += (result.empty() ? "" : "-") + word;
      ++words;
    }
    word.clear();
    clean = true;
  };
  for (const char c : message) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '/' || std::isdigit(static_cast<unsigned char>(c)) != 0) clean = false;
    if (is_word_character(c)) {
      word += c;
    } else if (c == '/' || (c == '.' && !word.empty() && !clean)) {
      word += c;  // a path or a number goes on
    } else {
      // "doesn't" has no quotation.
      if (c == '`' || c == '"' || (c == '\'' && word.empty())) quote = c;
      finish();
    }
  }
  finish();
  return result;
}

/// The operator that an error blames: of Inductor's lowering, or of the check of a kernel's result.
/// Empty where it names none.
std::string target_of(const RaisedError& error) {
  const auto after = [](std::string_view text, std::string_view mark) -> std::string {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return "";
    text.remove_prefix(at + mark.size());
    // "aten.sort.default": namespace, name, overload.
    const std::size_t begin = text.find('.') + 1;
    const std::size_t end = text.find_first_of(". \n", begin);
    const std::string_view name = begin == 0 ? "" : text.substr(begin, end - begin);
    return std::all_of(name.begin(), name.end(), is_word_character) ? std::string(name) : "";
  };
  const std::string lowered = after(error.detail, "target: ");
  return lowered.empty() ? after(error.message, "Error in op: torch.ops.") : lowered;
}

/// Inductor's kernels check indices themselves. Neither the operators nor the text (a variable and
/// a bound) distinguish these checks.
bool is_index_check(const RaisedError& error) {
  return error.message.find("index out of bounds: ") != std::string::npos;
}

std::string fingerprint_of_error(const Findings& found, const RaisedError& error,
                                 const std::string& operators) {
  if (is_index_check(error)) return "generated-code:index-check";
  const std::string target = target_of(error);
  std::string text =
      fmt::format("{}:{}", target.empty() ? operators : base_name("::" + target), class_of(error));
  if (found.status == Status::error_diverges && found.eager_error)
    return fmt::format("{}-not-{}", text, class_of(*found.eager_error));
  if (const std::string words = words_of(error.message); !words.empty()) text += "-" + words;
  return text;
}

/// "eager-nan", "compiled-nan", or "nan" where some elements are the one and some the other.
std::string sided(std::int64_t all, std::int64_t eager, std::int64_t compiled,
                  std::string_view word) {
  return fmt::format("{}{}", eager == all ? "eager-" : compiled == all ? "compiled-" : "", word);
}

/// The judge begins what it says of metadata with the word for it (judge/metadata.h).
std::string class_of_metadata(std::string_view reason) {
  static constexpr std::array<std::string_view, 7> kWords = {
      "dtype", "shape", "device", "layout", "requires_grad", "quantizer", "strides"};
  const std::string_view word = reason.substr(0, reason.find(' '));
  return std::string(std::find(kWords.begin(), kWords.end(), word) == kWords.end() ? "type" : word);
}

/// The judge begins what it says of a state with the words for it (judge/left_behind.h): "generator
/// cpu: …", "mode grad: …", "version: …", "memory: …", "overwritten: …".
std::string class_of_state(std::string_view reason) {
  const std::string_view words = reason.substr(0, reason.find(':'));
  const std::string_view what = words.substr(0, words.find(' '));
  if (what == "mode") return fmt::format("mode-{}", words.substr(what.size() + 1));
  const bool known = what == "generator" || what == "version" || what == "memory";
  return std::string(known ? what : "overwritten");
}

/// The program and what became of it as a whole.
std::string fingerprint_of_outcome(Status status, const Findings& found,
                                   const std::string& operators) {
  const bool crashed = info(status).crashed();
  if (found.compiled_error && info(status).rank == Rank::error)
    return fingerprint_of_error(found, *found.compiled_error, operators);
  if (status == Status::validation_lost && found.eager_error)
    return fmt::format("{}:{}-lost", operators, class_of(*found.eager_error));
  std::string name = fmt::format("{}:{}", operators, info(status).name);
  if (crashed && !found.stage.empty()) name += "-in-" + found.stage;
  return name;
}

std::string fingerprint_of(const Difference& difference, const OutputComparison* output,
                           const Findings& found, const std::string& operators) {
  const std::string program =
      operators + std::string(is_gradient(difference.name) ? kGradient : "");
  if (difference.reason.starts_with(kOtherSeed)) return program + ":seed";
  if (info(difference.status).rank == Rank::state)
    return fmt::format("{}:{}", program, class_of_state(difference.reason));
  if (difference.repetition > 0) return program + ":unstable";
  switch (info(difference.status).rank) {
    case Rank::metadata:
      return fmt::format("{}:{}", program, class_of_metadata(difference.reason));
    case Rank::aliasing:
      return program + ":alias";
    case Rank::mutation:
      return program + ":mutation";
    case Rank::nonfinite:
    case Rank::value:
      if (output != nullptr) return fmt::format("{}:{}", program, class_of_values(*output));
      [[fallthrough]];
    default:
      return fingerprint_of_outcome(difference.status, found, program);
  }
}

}  // namespace

std::string class_of_values(const OutputComparison& output) {
  const DifferenceClasses& classes = output.classes;
  if (classes.nan > 0)
    return sided(classes.nan, classes.eager_nan, classes.nan - classes.eager_nan, "nan");
  if (classes.infinity > 0) {
    if (classes.eager_infinity + classes.compiled_infinity == 0) return "infinity-sign";
    return sided(classes.infinity, classes.eager_infinity, classes.compiled_infinity, "infinity");
  }
  if (classes.value + classes.last_bits + classes.subnormal == 0 && classes.zero_sign > 0)
    return "zero-sign";
  const std::string_view type = output.type;
  return type.starts_with("int") || type.starts_with("uint") || type.starts_with("bool") ? "integer"
                                                                                         : "value";
}

std::string operators_of(std::span<const std::string> operators, std::string_view instance) {
  std::vector<std::string> names;
  for (const std::string& each : operators) {
    std::string name = base_name(each);
    if (!name.starts_with("sym_") && !contains(names, name)) names.push_back(std::move(name));
  }
  if (names.empty() || names.size() > kMostOperators)
    return std::string(instance.substr(0, instance.find_first_of("[@")));
  return fmt::format("{}", fmt::join(names, "+"));
}

bool is_of_an_end(std::string_view fingerprint) {
  const std::string_view what = fingerprint.substr(fingerprint.find(':') + 1);
  if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z') return true;
  constexpr Status kEnds[] = {Status::internal_error, Status::crash, Status::timeout, Status::oom};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](Status each) { return what.starts_with(info(each).name); });
}

std::string_view operators_of(std::string_view fingerprint) {
  std::string_view operators = fingerprint.substr(0, fingerprint.find(':'));
  if (operators.ends_with(kGradient)) operators.remove_suffix(kGradient.size());
  return operators;
}

std::vector<Fingerprint> explained_fingerprints_of(const Verdict& verdict) {
  std::vector<Fingerprint> fingerprints = fingerprints_of(verdict);
  if (!verdict.account.explained.is_object()) return fingerprints;
  const std::string program = operators_of(verdict.facts.operators, verdict.facts.instance);
  const std::vector<std::string> found =
      verdict.account.explained.value("operators", std::vector<std::string>());
  // "add.Tensor" is aten's.
  std::vector<std::string> operators;
  for (const std::string& each : found)
    operators.push_back(each.find("::") == std::string::npos && !each.starts_with("torch.")
                            ? "aten::" + each
                            : each);
  std::string knob;
  for (const auto& each :
       verdict.account.explained.value("knobs", nlohmann::ordered_json::array())) {
    if (knob.empty() && each.value("ends", false)) knob = each.value("name", std::string());
  }
  for (Fingerprint& fingerprint : fingerprints) {
    if (!operators.empty() && operators_of(fingerprint.name) == program)
      fingerprint.name =
          operators_of(operators, verdict.facts.instance) + fingerprint.name.substr(program.size());
    if (!knob.empty()) fingerprint.name += "/" + one_line(knob, kLongestWord);
  }
  return fingerprints;
}

std::vector<Fingerprint> fingerprints_of(const CaseFacts& facts, const Findings& found) {
  std::vector<Fingerprint> fingerprints;
  if (!info(found.status).expectable()) return fingerprints;
  const std::string operators = operators_of(facts.operators, facts.instance);
  const auto add = [&](std::string name, std::optional<Grade> grade) {
    for (Fingerprint& there : fingerprints) {
      if (there.name != name) continue;
      there.grade = std::max(there.grade, grade);  // none is less than any
      return;
    }
    fingerprints.push_back({std::move(name), grade});
  };
  std::vector<Difference> differences = found.differences;
  if (differences.empty()) {  // of a log that is older than they are
    for (const OutputComparison& output : found.outputs) {
      if (output.status != Status::conform)
        differences.push_back({output.status, output.name, output.reason});
    }
  }
  for (const Difference& difference : differences) {
    const OutputComparison* output = nullptr;
    for (const OutputComparison& each : found.outputs) {
      if (each.name == difference.name) output = &each;
    }
    add(fingerprint_of(difference, output, found, operators),
        output == nullptr ? std::nullopt : output->grade);
  }
  if (fingerprints.empty())
    add(fingerprint_of_outcome(found.status, found, operators), found.grade);
  return fingerprints;
}

}  // namespace lockstep
