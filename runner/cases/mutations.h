#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/files.h"
#include "base/fuzzing.h"
#include "base/json.h"

// How the fuzzer makes files: out of the files of the suite, more or less gently.
namespace lockstep::fuzz {

/// What files are made of.
struct Seeds {
  std::vector<std::string> texts;  ///< every file of cases/, those that are refused as well
  std::vector<Json> cases;         ///< those that are not
  std::vector<Json> values;        ///< every value of every file
  std::vector<std::string> words;  ///< every key and string of every file
  /// Every value of a case by the key that it has: what may stand in its place.
  std::map<std::string, std::vector<Json>> by_key;
};

inline void collect(const Json& value, bool valid, Seeds& seeds) {
  seeds.values.push_back(value);
  if (value.is_string()) seeds.words.push_back(value.get<std::string>());
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    if (value.is_object()) {
      seeds.words.push_back(key);
      if (valid) seeds.by_key[key].push_back(child);
    }
    collect(child, valid, seeds);
  }
}

inline const Seeds& seeds() {
  static const Seeds all = [] {
    namespace fs = std::filesystem;
    Seeds result;
    const fs::path root = fs::path(LOCKSTEP_SOURCE_DIR) / "cases";
    std::vector<fs::path> files;
    for (const char* folder : {"format", "bugs", "sweeps", "invalid"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.path().extension() == ".json" && entry.file_size() <= 6000)
          files.push_back(entry.path().lexically_relative(root));
      }
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      result.texts.push_back(read_file(root / file).value_or(""));
      const bool valid = *file.begin() != "invalid";
      const Json parsed = Json::parse(result.texts.back(), nullptr, false);
      if (parsed.is_discarded()) continue;
      collect(parsed, valid, result);
      if (valid) result.cases.push_back(parsed);
    }
    return result;
  }();
  return all;
}

/// Values that find boundaries.
inline Json awkward(Random& random) {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1,
                                           2.5,
                                           -0.0,
                                           1e308,
                                           5e-324,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           std::int64_t{1} << 46,
                                           std::int64_t{1} << 31,
                                           "",
                                           "%",
                                           "%x",
                                           "%%",
                                           "$",
                                           "$$",
                                           "$dtype",
                                           "$device",
                                           "nan",
                                           "-inf",
                                           "0x",
                                           "0x1p99999",
                                           "%x[",
                                           "%x[::]",
                                           "%x[...,...]",
                                           "%x[99999999999999999999]",
                                           std::string(300, 'a'),
                                           "\n",
                                           "\xc3\xa9",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({Json::array({Json::array()})}),
                                           Json{{"bits", "0xffffffffffffffffffff"}},
                                           Json{{"complex", {1, "nan"}}},
                                           Json{{"float", "nan"}}};
  return random.one_of(values);
}

/// Changes one place of a document into anything.
inline void mutate(Json& value, Random& random, int depth = 0) {
  if (value.is_structured() && !value.empty() && (depth == 0 || random.often(6))) {
    auto child = value.begin();
    std::advance(child, random.below(value.size()));
    switch (random.below(8)) {
      case 0:
        value.erase(child);
        return;
      case 1:
        *child = random.one_of(seeds().values);
        return;
      case 2:
        if (value.is_object()) {
          value[random.one_of(seeds().words)] = Json(*child);
        } else if (value.size() < 1000) {
          value.push_back(Json(*child));
        }
        return;
      default:
        return mutate(*child, random, depth + 1);
    }
  }
  if (value.is_string() && random.often(3)) {
    value = random.one_of(seeds().words);
  } else {
    value = random.often(2) ? random.one_of(seeds().values) : awkward(random);
  }
}

/// A place of a document and the key that leads to it; elements of a list have the key of the list.
struct Place {
  std::string key;
  Json* value;
};

inline void places_of(Json& value, const std::string& key, std::vector<Place>& places) {
  places.push_back({key, &value});
  if (!value.is_structured()) return;
  for (auto item = value.begin(); item != value.end(); ++item)
    places_of(*item, value.is_object() ? item.key() : key, places);
}

/// Whether something of the same kind may take its place: text is of a kind where it names a dtype,
/// refers to a name, or is spelled alike.
inline bool alike(const Json& a, const Json& b) {
  if (!a.is_string() || !b.is_string()) return a.type() == b.type();
  const auto& left = a.get_ref<const std::string&>();
  const auto& right = b.get_ref<const std::string&>();
  const auto sign = [](const std::string& text) {
    return text.starts_with('%') || text.starts_with('$') ? text[0] : ' ';
  };
  return (find_dtype(left) == nullptr) == (find_dtype(right) == nullptr) &&
         sign(left) == sign(right);
}

/// Changes one place of a document into something that may well stand there.
inline void nudge(Json& document, Random& random) {
  std::vector<Place> places;
  places_of(document, "", places);
  const Place& place = random.one_of(places);
  Json& value = *place.value;
  if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number_integer() && random.often(5)) {
    const std::int64_t changes[] = {0, 1, 2, 3, 5, 7, 16, -1, -2};
    value = random.often(4) ? random.one_of(changes) : value.get<std::int64_t>() / 2;
  } else if (value.is_number_float() && random.often(5)) {
    const double changes[] = {0.0, -0.0, 0.5, 1e-8, 3.25, -1.0, 65504.0, 1e30};
    value = random.one_of(changes);
  } else if (value.is_string() && find_dtype(value.get<std::string>()) != nullptr) {
    value = random.one_of(all_dtypes()).name;
  } else if (value.is_array() && random.often(4)) {
    // Elements change places, come twice or go.
    if (value.empty()) return;
    const std::size_t at = random.below(value.size());
    if (random.often(4)) {
      std::swap(value[at], value[random.below(value.size())]);
    } else if (random.often(4)) {
      value.push_back(Json(value[at]));
    } else {
      value.erase(at);
    }
  } else if (value.is_object() && !value.empty() && random.often(1)) {
    auto child = value.begin();
    std::advance(child, random.below(value.size()));
    value.erase(child);
  } else if (const auto others = seeds().by_key.find(place.key); others != seeds().by_key.end()) {
    // What another case has under this key: a fill for a fill, a context for a context.
    const Json& other = random.one_of(others->second);
    if (alike(value, other)) value = other;
  } else if (place.key.empty()) {
    // A key of the whole case, from another one.
    const Json& other = random.one_of(seeds().cases);
    auto child = other.begin();
    std::advance(child, random.below(other.size()));
    value[child.key()] = *child;
  }
}

/// A document out of the format's own words, right in its outline and wild in its details.
inline Json generated(Random& random) {
  const auto any = [&] {
    return random.often(6) ? random.one_of(seeds().values) : awkward(random);
  };
  Json root = {{"format", 1},
               {"title", "t"},
               {"inputs", Json::object()},
               {"steps", Json::array()},
               {"outputs", {"a"}}};
  const std::vector<std::string> names = {"a", "b", "x", "y", "n"};
  for (std::size_t i = random.below(4); i > 0; --i) {
    Json tensor = {{"dtype", random.one_of(all_dtypes()).name}};
    for (const char* key : {"shape", "strides"}) {
      if (random.often(4)) continue;
      tensor[key] = Json::array();
      for (std::size_t k = random.below(4); k > 0; --k)
        tensor[key].push_back(random.often(7) ? Json(random.below(5)) : awkward(random));
    }
    for (const char* key : {"offset", "storage", "values", "fill", "view_of", "requires_grad",
                            "quantizer", "conj", "zero_tensor", "constant"}) {
      if (random.often(2)) tensor[key] = any();
    }
    root["inputs"][random.one_of(names)] = random.often(7) ? tensor : any();
  }
  for (std::size_t i = 1 + random.below(4); i > 0; --i) {
    Json step = {{"let", random.one_of(names)}};
    const char* kinds[] = {"op", "call", "tensor", "get", "set", "scalar", "grad", "with"};
    step[random.one_of(kinds)] = any();
    if (random.often(4)) {
      step["op"] = random.often(6) ? Json(random.one_of(std::vector<std::string>{
                                         "add", "sum", "to", "relu_", "split", "cat", "conv2d"}))
                                   : any();
      step["args"] = Json::array({"%" + random.one_of(names), any()});
    }
    if (random.often(2)) step["kwargs"] = Json{{random.one_of(seeds().words), any()}};
    root["steps"].push_back(step);
  }
  for (const char* key : {"context", "prepare", "backward", "calls", "compare", "raises", "matrix",
                          "only", "requires", "outputs", "sweep", "share", "unverified"}) {
    if (random.often(1)) root[key] = any();
  }
  return root;
}

/// A file: half of them gently changed cases, the rest wild ones.
inline std::string made_file(Random& random) {
  switch (random.below(8)) {
    case 0:
      return changed_bytes(random.one_of(seeds().texts), random);
    case 1:
      return generated(random).dump();
    case 2:
    case 3: {
      Json document = Json::parse(random.one_of(seeds().texts), nullptr, false);
      if (document.is_discarded()) return "";
      for (std::size_t i = 1 + random.below(3); i > 0; --i) mutate(document, random);
      return document.dump();
    }
    default: {
      Json document = random.one_of(seeds().cases);
      for (std::size_t i = 1 + random.below(2); i > 0; --i) nudge(document, random);
      return document.dump();
    }
  }
}

}  // namespace lockstep::fuzz
