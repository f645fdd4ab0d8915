#include "certificate/rules.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/reader.h"
#include "base/text.h"
#include "reports/families.h"

namespace lockstep {
namespace {

double percent_of(Reader& reader, const Node& node) {
  const auto value = reader.number(node, "percent, 0 to 100");
  if (value && !(*value >= 0 && *value <= 100)) reader.mismatch(node, "percent, 0 to 100");
  return value.value_or(0);
}

double tolerance_of(Reader& reader, const Node& entry, std::string_view key) {
  const auto node = reader.required(entry, key, "a tolerance");
  const auto value = node ? reader.number(*node) : std::nullopt;
  if (value && !(*value >= 0)) reader.mismatch(*node, "a number that is not negative");
  return value.value_or(0);
}

Floor decode_floor(Reader& reader, const Node& entry) {
  Floor floor;
  if (!reader.object(entry, {"levels", "all", "each", "classes"})) return floor;
  if (const auto levels = reader.required(entry, "levels", "globs of names of levels"))
    floor.levels = reader.texts(*levels, "globs of names of levels");
  if (const auto all = reader.required(entry, "all", "percent of the level"))
    floor.all = percent_of(reader, *all);
  if (const auto each = reader.required(entry, "each", "percent of each class of operators"))
    floor.each = percent_of(reader, *each);
  const auto classes = reader.child(entry, "classes");
  if (!classes) return floor;
  if (!(*classes)->is_object()) {
    reader.mismatch(*classes, "an object of percents by class of operators");
    return floor;
  }
  std::vector<std::string> names = {"others"};
  for (const Family& family : all_families()) names.emplace_back(family.name);
  for (const auto& [name, value] : (*classes)->items()) {
    const std::string pointer = child_pointer(classes->pointer, name);
    if (!contains(names, name))
      reader.error(pointer, "found no class of operators: " + name, suggestion(name, names), true);
    floor.classes[name] = percent_of(reader, {&value, pointer});
  }
  return floor;
}

ToleranceBound decode_bound(Reader& reader, const Node& entry) {
  ToleranceBound bound;
  if (!reader.object(entry, {"operators", "dtype", "rtol", "atol", "source"})) return bound;
  if (const auto operators = reader.required(entry, "operators", "globs of operators"))
    bound.operators = reader.texts(*operators, "globs of operators");
  if (const auto dtype = reader.required(entry, "dtype", "a dtype")) {
    bound.dtype = reader.text(*dtype).value_or("");
    if ((*dtype)->is_string() && find_dtype(bound.dtype) == nullptr)
      reader.mismatch(*dtype, "a dtype");
  }
  bound.rtol = tolerance_of(reader, entry, "rtol");
  bound.atol = tolerance_of(reader, entry, "atol");
  if (const auto source = reader.required(entry, "source", "where the numbers come from")) {
    bound.source = reader.text(*source).value_or("");
    if ((*source)->is_string() && bound.source.find_first_not_of(" \t") == std::string::npos)
      reader.mismatch(*source,
                      "where the numbers come from: a bound without a source is an opinion");
  }
  return bound;
}

}  // namespace

const Floor* CertificationRules::floor_of(const std::string& level) const {
  const auto found = std::find_if(floors.begin(), floors.end(), [&](const Floor& floor) {
    return any_glob_matches(floor.levels, level);
  });
  return found == floors.end() ? nullptr : &*found;
}

CertificationRules decode_rules(const JsonFile& file, Diagnostics& diagnostics) {
  CertificationRules rules;
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"$schema", "format", "comment", "repeat", "floors", "tolerances"}))
    return rules;
  reader.format(root);
  if (const auto repeat = reader.required(root, "repeat", "how often which part is executed");
      repeat && reader.object(*repeat, {"times", "percent"})) {
    if (const auto times = reader.required(*repeat, "times", "executions"))
      rules.times = static_cast<int>(reader.integer(*times, 1, 100, "1 to 100").value_or(1));
    if (const auto percent = reader.required(*repeat, "percent", "percent of a level"))
      rules.percent = percent_of(reader, *percent);
  }
  const auto each = [&](std::string_view key, auto&& decode) {
    const auto list = reader.required(root, key, "a list of objects");
    if (!list || !reader.list(*list, "a list of objects")) return;
    for (std::size_t i = 0; i < (*list)->size(); ++i) decode(reader.element(*list, i));
  };
  each("floors", [&](const Node& entry) { rules.floors.push_back(decode_floor(reader, entry)); });
  each("tolerances",
       [&](const Node& entry) { rules.tolerances.push_back(decode_bound(reader, entry)); });
  return rules;
}

}  // namespace lockstep
