#include "cases/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "base/dtype.h"
#include "base/reader.h"
#include "base/text.h"
#include "cases/fill.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

/// Keys that change neither the computation nor the judgement of an instance.
constexpr std::array kBeside = {"$schema", "format", "title",      "comment",
                                "links",   "tags",   "unverified", "matrix"};

/// Where steps come from changes nothing either.
void erase_sources(Json& steps) {
  if (!steps.is_array()) return;
  for (Json& step : steps) {
    if (!step.is_object()) continue;
    step.erase("source");
    if (const auto inner = step.find("steps"); inner != step.end()) erase_sources(*inner);
  }
}

}  // namespace

std::string content_digest(const CaseFile& file, const MatrixChoice& choice,
                           const Registry* registry) {
  std::vector<std::string> unknown;
  Json root = substitute(file.file.root, choice, "cpu", unknown);
  if (is_sweep(file)) {
    Diagnostics ignored;
    Reader reader(file.file, ignored);
    const auto sweep = decode_sweep(reader, {&root, ""});
    if (!sweep) return "";
    const bool listed = sweep->calls.is_array();
    const std::string called = listed ? sweep->calls[0][0].get<std::string>() : sweep->op;
    const Overload* overload = registry == nullptr ? nullptr : registry->find_overload(called);
    if (overload == nullptr) return "";
    Json around;
    if (root.contains("steps")) around = {{"steps", root["steps"]}, {"outputs", root["outputs"]}};
    root.update(swept_program(*sweep, overload, around));
    const std::set<std::string> used = referred_names(root["steps"]);
    for (const std::string& name : sweep->inputs) {
      if (!used.contains(name)) root["inputs"].erase(name);
    }
    root.erase("sweep");
  }
  for (const char* key : kBeside) root.erase(key);
  if (root.contains("steps")) erase_sources(root["steps"]);
  if (root.contains("prepare") && root["prepare"].contains("steps"))
    erase_sources(root["prepare"]["steps"]);
  // Sorted keys: their order in the file says nothing, but for inputs, which have names.
  return Digest().add(nlohmann::json(root).dump()).hex().substr(0, 16);
}

std::map<std::string, std::string> fill_digests() {
  constexpr std::array kFilled = {"float16", "bfloat16", "float32",   "float64",
                                  "int64",   "uint8",    "complex64", "bool"};
  std::map<std::string, std::string> digests;
  for (const FillRule& rule : fill_rules()) {
    Digest digest;
    for (const char* name : kFilled) {
      TensorSpec tensor;
      tensor.dtype = find_dtype(name);
      tensor.shape = {24, 10};
      tensor.strides = {10, 1};
      tensor.storage_elements = 240;
      RuleFill fill{&rule, 1, {}};
      for (const RuleParameter& parameter : rule.parameters)
        fill.parameters.emplace_back(parameter.name, parameter.from_shape == nullptr
                                                         ? parameter.fallback
                                                         : parameter.from_shape(tensor.shape));
      if (!rule.fault(fill, *tensor.dtype).empty()) continue;
      tensor.fill = std::move(fill);
      const std::vector<std::byte> bytes = storage_bytes(tensor, "x");
      digest.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    digests[std::string(rule.name)] = digest.hex().substr(0, 16);
  }
  return digests;
}

void add_choices(CaseFile& file, const std::set<std::string>& suffixes) {
  constexpr std::string_view kOp = "[op=";
  std::set<std::string> known, operators;
  for (const MatrixChoice& choice : file.choices) known.insert(choice.suffix);
  for (const std::string& suffix : suffixes) {
    if (known.contains(suffix) || !suffix.starts_with(kOp)) continue;
    operators.insert(suffix.substr(kOp.size(), suffix.find_first_of(",]") - kOp.size()));
  }
  for (const std::string& op : operators) {
    for (MatrixChoice choice : plain_choices(file)) {
      choice.op = op;
      choice.suffix = swept_suffix(op, choice.suffix);
      if (suffixes.contains(choice.suffix) && !known.contains(choice.suffix))
        file.choices.push_back(std::move(choice));
    }
  }
}

}  // namespace lockstep
