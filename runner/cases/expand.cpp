#include "cases/expand.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostChoices = 10'000;
constexpr std::size_t kMostNames = 16;

/// A value as ids show it: a plain word unchanged, an object by its name, everything else as
/// compact JSON.
std::string id_text(const Json& value) {
  if (value.is_object()) return value.contains("is") ? id_text(value["is"]) : "";
  if (value.is_string()) return value.get<std::string>();
  return value.dump();
}

/// A value in a document: its pointer is text only where one is wrong, for there are many.
struct Place {
  const Place* parent;     ///< null: the document itself
  const std::string* key;  ///< in an object; null: an element
  std::size_t index;

  std::string pointer() const {
    if (parent == nullptr) return "";
    return child_pointer(parent->pointer(), key != nullptr ? *key : std::to_string(index));
  }
  bool below(std::string_view member) const {
    const Place* place = this;
    while (place->parent != nullptr && place->parent->parent != nullptr) place = place->parent;
    return place != this && place->key != nullptr && *place->key == member;
  }
};

/// What substitute does to a value; `swept`: it is of a document with a sweep.
void replace(Json& value, const Place& place, const MatrixChoice& choice, const std::string& device,
             bool swept, std::vector<std::string>& unknown) {
  if (value.is_string()) {
    if (const auto& whole = value.get_ref<const std::string&>();
        !whole.starts_with('$') || whole.size() < 2)
      return;
    const std::string text = value.get<std::string>();
    if (text[1] == '$') {
      value = text.substr(1);
      return;
    }
    if (text == "$device") {
      value = device;
      return;
    }
    const std::size_t dot = text.find('.');
    const std::string key = text.substr(1, dot - 1);
    for (const auto& [name, chosen] : choice.values) {
      if (name != key || (dot == std::string::npos && chosen.is_object())) continue;
      if (dot == std::string::npos) {
        value = chosen;
        return;
      }
      const auto field = chosen.is_object() ? chosen.find(text.substr(dot + 1)) : chosen.end();
      if (field == chosen.end() || !chosen.is_object()) continue;
      value = *field;
      return;
    }
    if (text == "$op" && swept && place.below("steps")) return;  // its call
    unknown.push_back(place.pointer());
  } else if (value.is_object()) {
    for (auto& [key, child] : value.get_ref<Json::object_t&>())
      replace(child, {&place, &key, 0}, choice, device, swept, unknown);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      replace(value[i], {&place, nullptr, i}, choice, device, swept, unknown);
  }
}

/// Whether all choices of a name are objects of the same fields, or none is an object.
bool same_fields(Reader& reader, const Node& values) {
  const int before = reader.failures();
  const Json& first = (*values)[0];
  for (std::size_t i = 1; i < values->size(); ++i) {
    const Node element = reader.element(values, i);
    if (element->is_object() != first.is_object()) {
      reader.mismatch(element, first.is_object() ? "an object, as the first choice is"
                                                 : "no object, as the first choice is none");
      continue;
    }
    if (!first.is_object()) continue;
    for (const auto& [field, value] : first.items()) {
      if (!element->contains(field)) {
        reader.error(element.pointer,
                     fmt::format("found a choice without `{}`, which the first one "
                                 "has",
                                 one_line(field, 60)),
                     "write null where it has none");
      }
    }
    for (const auto& [field, value] : element->items()) {
      if (!first.contains(field)) {
        reader.error(child_pointer(element.pointer, field),
                     fmt::format("found `{}`, which the first choice has not", one_line(field, 60)),
                     "write null where it has none", true);
      }
    }
  }
  return reader.failures() == before;
}

}  // namespace

bool fits_id(const std::string& text, std::size_t most) {
  constexpr std::string_view kForbidden = "@/*? \t\n\r\"'\\";
  return !text.empty() && text.size() <= most &&
         text.find_first_of(kForbidden) == std::string::npos;
}

std::vector<MatrixChoice> matrix_choices(Reader& reader, const Json& root) {
  std::vector<MatrixChoice> choices(1);
  const auto matrix = reader.child({&root, ""}, "matrix");
  if (!matrix) return choices;
  if (!(*matrix)->is_object()) {
    reader.mismatch(*matrix,
                    "an object of lists, such as {\"dtype\": [\"float16\", \"bfloat16\"]}");
    return choices;
  }
  if ((*matrix)->size() > kMostNames) {  // each choice has them all
    reader.error(matrix->pointer, fmt::format("found a matrix of {} names, expected at most {}",
                                              (*matrix)->size(), kMostNames));
    return choices;
  }
  for (const auto& [key, values] : (*matrix)->items()) {
    const Node node{&values, child_pointer(matrix->pointer, key)};
    if (!valid_name(key) || key == "device") {
      reader.error(
          node.pointer,
          fmt::format("found `{}`, expected a name (`device` is taken)", one_line(key, 60)), "",
          true);
      continue;
    }
    if (!reader.list(node, "a list of values")) continue;
    if (node->empty()) {
      reader.mismatch(node, "at least one value");
      continue;
    }
    if (choices.size() * std::max<std::size_t>(node->size(), 1) > kMostChoices) {
      reader.error(node.pointer,
                   fmt::format("found a matrix of more than {} choices", kMostChoices), "", true);
      break;
    }
    if (!same_fields(reader, node)) continue;
    std::vector<MatrixChoice> longer;
    for (const MatrixChoice& choice : choices) {
      for (std::size_t i = 0; i < node->size(); ++i) {
        const std::string text = id_text(values[i]);
        if (!fits_id(text)) {
          const Node element = reader.element(node, i);
          if (element->is_object() && !element->contains("is")) {
            reader.mismatch(element, "an object that has `is`, which ids say");
            continue;
          }
          reader.mismatch(element,
                          "a value whose text is 1 to 80 characters, none of them a space, a quote "
                          "or one of @ / * ? \\");
          continue;
        }
        MatrixChoice next = choice;
        next.suffix += (next.suffix.empty() ? "" : ",") + key + "=" + text;
        next.values.emplace_back(key, values[i]);
        longer.push_back(std::move(next));
      }
    }
    choices = std::move(longer);
  }
  for (MatrixChoice& choice : choices) {
    if (!choice.suffix.empty()) choice.suffix = "[" + choice.suffix + "]";
  }
  return choices;
}

namespace {

/// A copy without the matrix, and with the chosen one of a list of calls alone: both are long.
Json copy_of(const Json& root, const MatrixChoice& choice) {
  if (!root.is_object()) return root;
  Json result = Json::object();
  result.get_ref<Json::object_t&>().reserve(root.size() + 1);  // one that grows copies all it has
  for (const auto& [key, value] : root.items()) {
    if (key == "matrix") continue;
    if (key != "sweep" || choice.call < 0 || !value.is_object()) {
      result[key] = value;
      continue;
    }
    Json& copy = result[key] = Json::object();
    for (const auto& [name, part] : value.items()) {
      copy[name] =
          name == "calls" ? Json::array({part[static_cast<std::size_t>(choice.call)]}) : part;
    }
  }
  return result;
}

}  // namespace

Json substitute(const Json& root, const MatrixChoice& choice, const std::string& device,
                std::vector<std::string>& unknown) {
  Json result = copy_of(root, choice);
  if (!choice.op.empty()) result["sweep"]["operators"] = choice.op;
  replace(result, {nullptr, nullptr, 0}, choice, device, root.contains("sweep"), unknown);
  return result;
}

}  // namespace lockstep
