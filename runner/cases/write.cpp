#include "cases/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "cases/fill.h"
#include "program/program_json.h"

namespace lockstep {
namespace {

/// A line of a case file is no longer than this where it can be broken.
constexpr std::size_t kColumns = 100;

std::string written(const Json& json, std::size_t indent, std::size_t before) {
  const std::function<std::string(const Json&)> in_a_line = [&](const Json& value) {
    if (!value.is_structured()) return value.dump();
    std::string text;
    for (const auto& [key, child] : value.items()) {
      text += text.empty() ? "" : ", ";
      text += (value.is_object() ? Json(key).dump() + ": " : "") + in_a_line(child);
    }
    return value.is_object() ? "{" + text + "}" : "[" + text + "]";
  };
  std::string line = in_a_line(json);
  if (!json.is_structured() || json.empty() || (indent > 0 && before + line.size() <= kColumns))
    return line;
  const std::string margin(indent + 2, ' ');
  std::string text;
  for (const auto& [key, child] : json.items()) {
    const std::string name = json.is_object() ? Json(key).dump() + ": " : "";
    text += (text.empty() ? "\n" : ",\n") + margin + name +
            written(child, indent + 2, indent + 2 + name.size());
  }
  text += "\n" + std::string(indent, ' ');
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// A string anywhere in a file: `$` begins what the matrix has.
Json escaped(const std::string& text) { return text.starts_with('$') ? "$" + text : text; }

Json written_special(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

/// The shortest number that reads back as `bits`. A number that is not finite is written as a word
/// or as bits.
Json written_real(const Dtype& dtype, std::uint64_t bits) {
  const double value = decode_float(dtype, bits);
  if (value == 0 && std::signbit(value)) return "-0.0";
  if (!std::isfinite(value)) {
    if (encode_float(dtype, value) == bits) return written_special(value);
    return nullptr;  // a NaN with a payload of its own
  }
  for (int digits = 1; digits < 17; ++digits) {
    const double shorter = std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
    if (encode_float(dtype, shorter) != bits) continue;
    if (shorter == std::trunc(shorter) && std::abs(shorter) < 1e15)
      return static_cast<std::int64_t>(shorter);
    return shorter;
  }
  return value;
}

Json written_bits(const Dtype& dtype, const ElementBits& bits) {
  std::string digits = fmt::format("{:x}", bits.low);
  if (dtype.bytes > 8) digits = fmt::format("{:x}{:016x}", bits.high, bits.low);
  return {{"bits", "0x" + digits}};
}

Json written_whole(const Dtype& dtype, std::uint64_t bits) {
  if (dtype.kind == NumberKind::signed_integer) return decode_signed(dtype, bits);
  const int unused = 64 - dtype.bytes * 8;
  return (bits << unused) >> unused;
}

/// A number of a rule or a quantizer.
Json written_number(double value) {
  if (value == std::trunc(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

Json written_fill(const TensorSpec& spec, const RuleFill& fill) {
  Json parameters = Json::object();
  for (std::size_t i = 0; i < fill.rule->parameters.size(); ++i) {
    const RuleParameter& parameter = fill.rule->parameters[i];
    const double usual =
        parameter.from_shape != nullptr ? parameter.from_shape(spec.shape) : parameter.fallback;
    if (fill.parameters[i].second != usual)
      parameters[std::string(parameter.name)] = written_number(fill.parameters[i].second);
  }
  const std::string name(fill.rule->name);
  const bool seeded = fill.rule->seeded && fill.seed != 0;
  if (parameters.empty() && !seeded) return name;
  Json json = {
      {name, fill.rule->direct && parameters.size() == 1 ? parameters.front() : parameters}};
  if (seeded) json["seed"] = fill.seed;
  return json;
}

/// Elements as nested lists of a shape.
Json nested_elements(const std::vector<Json>& elements, const std::vector<std::int64_t>& shape,
                     std::size_t depth, std::size_t& next) {
  if (depth == shape.size()) return elements[next++];
  Json list = Json::array();
  for (std::int64_t i = 0; i < shape[depth]; ++i)
    list.push_back(nested_elements(elements, shape, depth + 1, next));
  return list;
}

void put_elements(const TensorSpec& spec, bool plain, Json& json) {
  if (const auto* file = std::get_if<FileFill>(&spec.fill)) {
    json["file"] = file->name;
    return;
  }
  const auto* literal = std::get_if<LiteralFill>(&spec.fill);
  if (literal == nullptr) {
    json["fill"] = written_fill(spec, std::get<RuleFill>(spec.fill));
    for (const auto& [place, bits] : spec.except)
      json["except"][element_to_json(*spec.dtype, bits).get<std::string>()].push_back(place);
    return;
  }
  std::vector<Json> elements;
  for (const ElementBits& bits : literal->elements)
    elements.push_back(element_to_json(*spec.dtype, bits));
  if (plain && !elements.empty()) {
    json.erase("shape");
    std::size_t next = 0;
    json["values"] = nested_elements(elements, spec.shape, 0, next);
  } else {
    json["values"] = elements;
  }
}

Json written_quantizer(const Quantizer& quantizer) {
  const bool several = quantizer.scheme.starts_with("per_channel");
  Json json = {{"scheme", quantizer.scheme}};
  if (several) {
    json["scale"] = quantizer.scales;
    json["zero_point"] = quantizer.zero_points;
    json["axis"] = quantizer.axis;
  } else {
    json["scale"] = quantizer.scales.at(0);
    json["zero_point"] = quantizer.zero_points.at(0);
  }
  return json;
}

/// A tensor; with `whole` also what is a default, so that it overrides another call's.
Json written_tensor(const TensorSpec& spec, const std::vector<InputSpec>& before, bool whole) {
  Json json = Json::object();
  const Dtype* base = nullptr;
  for (const InputSpec& input : before) {
    const auto* tensor = std::get_if<TensorSpec>(&input.value);
    if (tensor != nullptr && !spec.view_of.empty() && input.name == spec.view_of)
      base = tensor->dtype;
  }
  if (base != spec.dtype || whole) json["dtype"] = spec.dtype->name;
  if (!spec.view_of.empty()) json["view_of"] = spec.view_of;
  json["shape"] = spec.shape;
  const bool owns = spec.view_of.empty() && !spec.zero_tensor;
  const bool strided = spec.strides != contiguous_strides(spec.shape);
  const bool larger = owns && spec.storage_elements != reach_of(spec);
  if (!spec.zero_tensor) {
    if (strided || whole) json["strides"] = spec.strides;
    if (spec.offset != 0 || whole) json["offset"] = spec.offset;
    if (larger || (owns && whole)) json["storage"] = spec.storage_elements;
  }
  if (spec.zero_tensor) json["zero_tensor"] = true;
  if (owns) put_elements(spec, !strided && spec.offset == 0 && !larger && !whole, json);
  const auto flag = [&](const char* key, bool value) {
    if (value || (whole && owns && std::string_view(key) == "requires_grad")) json[key] = value;
  };
  flag("requires_grad", spec.requires_grad);
  flag("conj", spec.conj);
  flag("neg", spec.neg);
  if (!whole) flag("constant", spec.constant);
  if (spec.quantizer) json["quantizer"] = written_quantizer(*spec.quantizer);
  return json;
}

Json written_input(const InputSpec& input, const std::vector<InputSpec>& before, bool whole) {
  if (const auto* tensor = std::get_if<TensorSpec>(&input.value))
    return written_tensor(*tensor, before, whole);
  const Value& value = std::get<Value>(input.value);
  if (const auto* number = std::get_if<Float>(&value.is))
    return {{"float", written_special(number->value)}};
  if (const auto* flag = std::get_if<bool>(&value.is)) return {{"bool", *flag}};
  return {{"int", std::get<std::int64_t>(value.is)}};
}

/// An argument; with `typed` a schema tells a dtype from a string, and a float from its word.
Json written_argument(const Value& value, bool typed) {
  return std::visit(
      [&](const auto& is) -> Json {
        using T = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, Float>) {
          const Json number = written_special(is.value);
          return number.is_string() && !typed ? Json{{"float", number}} : number;
        } else if constexpr (std::is_same_v<T, Complex>) {
          return {{"complex", {is.real.value, is.imaginary.value}}};
        } else if constexpr (std::is_same_v<T, Ref>) {
          return "%" + is.name;
        } else if constexpr (std::is_same_v<T, Enumeration>) {
          return typed ? Json(is.word) : Json{{std::string(name_of(is.kind)), is.word}};
        } else if constexpr (std::is_same_v<T, std::string>) {
          return is.starts_with('%') ? Json("%" + is) : escaped(is);
        } else if constexpr (std::is_same_v<T, Value::List>) {
          Json list = Json::array();
          for (const Value& item : is) list.push_back(written_argument(item, typed));
          return list;
        } else {
          return is;
        }
      },
      value.is);
}

void put_arguments(const Arguments& arguments, bool typed, Json& json) {
  json["args"] = Json::array();
  for (const Value& value : arguments.args) json["args"].push_back(written_argument(value, typed));
  if (arguments.kwargs.empty()) return;
  json["kwargs"] = Json::object();
  for (const auto& [name, value] : arguments.kwargs)
    json["kwargs"][name] = written_argument(value, typed);
}

std::string index_text_of(const Value& value) {
  if (const auto* ref = std::get_if<Ref>(&value.is)) return "%" + ref->name;
  if (const auto* flag = std::get_if<bool>(&value.is)) return *flag ? "true" : "false";
  if (const auto* list = std::get_if<Value::List>(&value.is)) {
    std::string text;
    for (const Value& item : *list) text += (text.empty() ? "" : ", ") + index_text_of(item);
    return "[" + text + "]";
  }
  if (value.is_none()) return "";
  return fmt::format("{}", std::get<std::int64_t>(value.is));
}

std::string indexed_text(const Value& base, const std::vector<IndexItem>& items) {
  std::string text;
  for (const IndexItem& item : items) {
    text += text.empty() ? "" : ", ";
    if (std::holds_alternative<Ellipsis>(item)) {
      text += "...";
    } else if (std::holds_alternative<NewAxis>(item)) {
      text += "None";
    } else if (const auto* slice = std::get_if<Slice>(&item)) {
      text += index_text_of(slice->start) + ":" + index_text_of(slice->stop);
      if (!slice->step.is_none()) text += ":" + index_text_of(slice->step);
    } else {
      text += index_text_of(std::get<Value>(item));
    }
  }
  return fmt::format("%{}[{}]", std::get<Ref>(base.is).name, text);
}

Json written_references(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(written_argument(value, true));
  return list;
}

std::string short_operator(const std::string& name) {
  return name.starts_with("aten::") ? name.substr(6) : name;
}

Json written_steps(const std::vector<Step>& steps, const std::vector<TensorSpec>& literals);

Json written_step(const Step& step, const std::vector<TensorSpec>& literals) {
  Json json = Json::object();
  if (step.let.size() == 1) {
    json["let"] = step.let[0] ? Json(*step.let[0]) : Json();
  } else if (!step.let.empty()) {
    json["let"] = Json::array();
    for (const auto& name : step.let) json["let"].push_back(name ? Json(*name) : Json());
  }
  if (const auto* op = std::get_if<OpCall>(&step.does)) {
    json["op"] = short_operator(op->op);
    put_arguments(op->arguments, true, json);
  } else if (const auto* call = std::get_if<FunctionCall>(&step.does)) {
    json[is_operator(*call) ? "op" : "call"] = call->function;
    put_arguments(call->arguments, false, json);
  } else if (const auto* literal = std::get_if<LiteralTensor>(&step.does)) {
    json["tensor"] = written_tensor(literals.at(literal->index), {}, false);
  } else if (const auto* get = std::get_if<GetItem>(&step.does)) {
    json["get"] = indexed_text(get->base, get->index);
  } else if (const auto* set = std::get_if<SetItem>(&step.does)) {
    json["set"] = indexed_text(set->base, set->index);
    json["to"] = written_argument(set->to, true);
  } else if (const auto* scalar = std::get_if<ScalarCall>(&step.does)) {
    json["scalar"] = {scalar->name};
    for (const Value& value : scalar->operands)
      json["scalar"].push_back(written_argument(value, true));
  } else if (const auto* grad = std::get_if<GradCall>(&step.does)) {
    Json& asked = json["grad"] = {{"of", written_references(grad->of)},
                                  {"wrt", written_references(grad->wrt)}};
    if (grad->with) asked["with"] = written_references(*grad->with);
    if (grad->create_graph) asked["create_graph"] = true;
  } else if (const auto* block = std::get_if<WithBlock>(&step.does)) {
    json["with"] = context_to_json(block->context);
    json["steps"] = written_steps(block->steps, literals);
  } else if (const auto* apply = std::get_if<ApplyCall>(&step.does)) {
    json["apply"] = apply->name;
    put_arguments(apply->arguments, false, json);
    for (const SubProgram& program : apply->programs) {
      json[program.role] = {{"inputs", program.inputs},
                            {"steps", written_steps(program.steps, literals)},
                            {"outputs", program.outputs}};
    }
  }
  if (step.source) {
    Json& source =
        json["source"] = {{"file", escaped(step.source->file)}, {"line", step.source->line}};
    if (!step.source->name.empty()) source["name"] = escaped(step.source->name);
  }
  return json;
}

Json written_steps(const std::vector<Step>& steps, const std::vector<TensorSpec>& literals) {
  Json list = Json::array();
  for (const Step& step : steps) list.push_back(written_step(step, literals));
  return list;
}

void put_header(const Case& declared, Json& root) {
  root["format"] = 1;
  root["title"] = escaped(declared.title);
  if (!declared.links.empty()) root["links"] = declared.links;
  if (!declared.tags.empty()) root["tags"] = declared.tags;
  if (!declared.unverified.empty()) root["unverified"] = declared.unverified;
  Json needs = Json::object();
  if (!declared.requires_torch.empty()) needs["torch"] = declared.requires_torch;
  if (declared.eager_must_return) needs["eager"] = "returns";
  if (!needs.empty()) root["requires"] = needs;
  Json only = Json::object();
  if (!declared.only_paths.empty()) only["paths"] = declared.only_paths;
  if (!declared.only_devices.empty()) only["devices"] = declared.only_devices;
  if (!only.empty()) root["only"] = only;
  if (declared.seed != 0) root["seed"] = declared.seed;
  if (declared.threads != 0) root["threads"] = declared.threads;
  if (declared.pointwise) root["pointwise"] = true;
  if (declared.share) root["share"] = true;
  if (declared.program.context != Context())
    root["context"] = context_to_json(declared.program.context);
}

void put_inputs(const Case& declared, Json& root) {
  if (declared.prepare) {
    const PrepareSpec& prepare = *declared.prepare;
    Json& json = root["prepare"] = Json::object();
    if (prepare.seed != 0) json["seed"] = prepare.seed;
    if (prepare.program.context != Context())
      json["context"] = context_to_json(prepare.program.context);
    json["steps"] = written_steps(prepare.program.steps, prepare.literals);
    json["outputs"] = returned_values(prepare.program);
    if (!prepare.requires_grad.empty()) json["requires_grad"] = prepare.requires_grad;
  }
  const std::vector<InputSpec>& first = declared.calls.front().inputs;
  for (std::size_t i = 0; i < first.size(); ++i)
    root["inputs"][first[i].name] = written_input(first[i], first, false);
  if (declared.calls.size() < 2 && declared.calls.front().context == Context()) return;
  const auto with_context = [](Json call, const Context& context) {
    if (context != Context()) call["context"] = context_to_json(context);
    return call;
  };
  root["calls"].push_back(with_context(Json::object(), declared.calls.front().context));
  for (std::size_t k = 1; k < declared.calls.size(); ++k) {
    Json changes = Json::object();
    for (const InputSpec& input : declared.calls[k].inputs) {
      const auto base = std::find_if(first.begin(), first.end(), [&](const InputSpec& each) {
        return each.name == input.name;
      });
      Json whole = written_input(input, declared.calls[k].inputs, true);
      if (base == first.end() || written_input(*base, first, true) != whole)
        changes[input.name] = std::move(whole);
    }
    root["calls"].push_back(with_context(std::move(changes), declared.calls[k].context));
  }
  if (declared.calls.size() < 2) return;  // there is nobody to carry anything to
  for (const auto& [input, from] : declared.program.carry) root["carry"][input] = escaped(from);
}

void put_relations(const Case& declared, Json& root) {
  const auto by_name = [](const std::vector<std::pair<std::string, std::int64_t>>& dimensions) {
    Json object = Json::object();
    for (const auto& [name, along] : dimensions) object[name] = along;
    return object;
  };
  for (const RelationSpec& each : declared.relations) {
    Json relation = std::string(name_of(each.kind));
    if (!each.inputs.empty()) relation = {{std::string(name_of(each.kind)), by_name(each.inputs)}};
    if (!each.layout.empty()) relation = {{std::string(name_of(each.kind)), each.layout}};
    if (!each.sizes.empty()) relation["sizes"] = each.sizes;
    if (!each.of.empty()) relation["of"] = by_name(each.of);
    root["relations"].push_back(std::move(relation));
  }
}

void put_compare(const Case& declared, Json& root) {
  if (const auto& backward = declared.program.backward) {
    Json& json = root["backward"] = {{"of", backward->of}};
    if (backward->with) json["with"] = *backward->with;
    if (backward->retain_graph) json["retain_graph"] = true;
    if (backward->twice) json["twice"] = true;
  }
  for (const CompareRule& rule : declared.compare) {
    Json& of = root["compare"][rule.output];
    if (rule.path == "*" && of.is_null()) {
      of = to_string(rule.policy);
    } else {
      if (of.is_string()) of = {{"*", of}};
      of[rule.path] = to_string(rule.policy);
    }
  }
  if (declared.strides != StrideRule::significant) root["strides"] = name_of(declared.strides);
  if (declared.raises) {
    Json& json = root["raises"] = Json::object();
    if (!declared.raises->class_name.empty()) json["class"] = declared.raises->class_name;
    if (!declared.raises->match.empty()) json["match"] = escaped(declared.raises->match);
  }
}

}  // namespace

Json element_to_json(const Dtype& dtype, const ElementBits& bits) {
  switch (dtype.kind) {
    case NumberKind::boolean:
      return bits.low <= 1 ? Json(bits.low == 1) : written_bits(dtype, bits);
    case NumberKind::floating: {
      const Json number = written_real(dtype, bits.low);
      return number.is_null() ? written_bits(dtype, bits) : number;
    }
    case NumberKind::complex: {
      const Dtype& part = *find_dtype(dtype.part);
      const bool wide = part.bytes == 8;
      const int width = 8 * part.bytes;
      const Json real = written_real(part, wide ? bits.low : bits.low & ((1ULL << width) - 1));
      const Json imaginary = written_real(part, wide ? bits.high : bits.low >> width);
      if (real.is_null() || imaginary.is_null()) return written_bits(dtype, bits);
      return {{"complex", {real, imaginary}}};
    }
    case NumberKind::quantized:
      return written_whole(*find_dtype(dtype.part), bits.low);
    case NumberKind::opaque:
      return written_bits(dtype, bits);
    default:
      return written_whole(dtype, bits.low);
  }
}

Json case_to_json(const Case& declared) {
  Json root = Json::object();
  put_header(declared, root);
  put_inputs(declared, root);
  root["steps"] = written_steps(declared.program.steps, declared.literals);
  root["outputs"] = Json::array();
  for (const Value& output : declared.program.outputs) {
    const auto* ref = std::get_if<Ref>(&output.is);
    root["outputs"].push_back(ref != nullptr ? Json(escaped(ref->name))
                                             : written_argument(output, false));
  }
  put_relations(declared, root);
  put_compare(declared, root);
  return root;
}

std::map<std::string, FileFill> files_of(const Case& declared) {
  std::map<std::string, FileFill> files;
  const auto add = [&](const TensorSpec& spec) {
    const auto* file = std::get_if<FileFill>(&spec.fill);
    if (file != nullptr && spec.view_of.empty()) files.emplace(file->name, *file);
  };
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      if (const auto* spec = std::get_if<TensorSpec>(&input.value)) add(*spec);
    }
  }
  for (const TensorSpec& literal : declared.literals) add(literal);
  if (declared.prepare) {
    for (const TensorSpec& literal : declared.prepare->literals) add(literal);
  }
  return files;
}

std::string case_text(const Case& declared) { return json_text(case_to_json(declared)); }

std::string json_text(const Json& json) { return written(json, 0, 0) + "\n"; }

}  // namespace lockstep
