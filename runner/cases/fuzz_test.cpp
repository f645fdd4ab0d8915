#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/files.h"
#include "cases/decode.h"
#include "cases/show.h"
#include "cases/suite.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// SplitMix64: a failing seed is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool often(std::size_t of_eight) { return below(8) < of_eight; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

struct Seeds {
  std::vector<std::string> texts;
  std::vector<Json> values;        ///< every value of every seed
  std::vector<std::string> words;  ///< every key and string of every seed
};

void collect(const Json& value, Seeds& seeds) {
  seeds.values.push_back(value);
  if (value.is_string()) seeds.words.push_back(value.get<std::string>());
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    if (value.is_object()) seeds.words.push_back(key);
    collect(child, seeds);
  }
}

const Seeds& seeds() {
  static const Seeds all = [] {
    Seeds result;
    for (const char* folder : {"cases/format", "cases/bugs", "cases/invalid"}) {
      const fs::path root = fs::path(LOCKSTEP_SOURCE_DIR) / folder;
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.path().extension() != ".json" || entry.file_size() > 6000) continue;
        result.texts.push_back(read_file(entry.path()).value_or(""));
      }
    }
    std::sort(result.texts.begin(), result.texts.end());
    for (const std::string& text : result.texts) {
      const Json parsed = Json::parse(text, nullptr, false);
      if (!parsed.is_discarded()) collect(parsed, result);
    }
    return result;
  }();
  return all;
}

/// Values that find boundaries.
Json awkward(Random& random) {
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

/// Changes one place of a document.
void mutate(Json& value, Random& random, int depth = 0) {
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

std::string mutated_bytes(Random& random) {
  std::string text = random.one_of(seeds().texts);
  const std::size_t changes = 1 + random.below(4);
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(5)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, random.below(20));
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      case 3:
        text.insert(at, 1, R"({}[]",:0-e.%$\)"[random.below(15)]);
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

/// A document out of the format's own words, right in its outline and wild in its details.
Json generated(Random& random) {
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
    for (const char* key :
         {"offset", "storage", "values", "fill", "view_of", "requires_grad", "quantizer", "conj"}) {
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
                          "only", "requires", "outputs"}) {
    if (random.often(1)) root[key] = any();
  }
  return root;
}

struct Tally {
  std::size_t cases = 0;
  std::size_t refused = 0;
};

/// Parses, expands, decodes and shows, as `check` and `show` do.
void digest(const std::string& text, const Registry* registry, Tally& tally) {
  Diagnostics diagnostics;
  CaseFile file = parse_case_file({"cases/t.json", text, {}}, diagnostics);
  if (!diagnostics.empty()) {
    ++tally.refused;
    return;
  }
  std::size_t decoded = 0;
  for (const MatrixChoice& choice : file.choices) {
    if (++decoded > 4) break;
    std::vector<std::string> unknown;
    const Json root = substitute(file.file.root, choice, "cpu", unknown);
    const auto declared =
        decode_case(file.file, root, file.id, {registry, "cpu", false}, diagnostics);
    ASSERT_EQ(declared.has_value(), diagnostics.empty());
    if (!declared) break;
    const std::string shown = show_case(*declared, "t@cpu");
    ASSERT_LT(shown.size(), 200'000U + 20 * text.size());
  }
  ++(diagnostics.empty() ? tally.cases : tally.refused);
  ASSERT_LT(diagnostics.size(), 2000U);
  for (const Diagnostic& diagnostic : diagnostics) ASSERT_FALSE(to_string(diagnostic).empty());
}

/// Whatever a file says, decoding it gives an error or a case: no crash, no hang, no memory that
/// grows with a number in the file.  LOCKSTEP_FUZZ: how many files; LOCKSTEP_FUZZ_SEED: the first.
TEST(Fuzz, EveryFileGivesAnErrorOrACase) {
  const Registry registry =
      *Registry::read(fs::path(LOCKSTEP_SOURCE_DIR) / "runner/cases/testdata/schemas.json");
  const char* asked = std::getenv("LOCKSTEP_FUZZ");
  const char* first = std::getenv("LOCKSTEP_FUZZ_SEED");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 3000;
  const std::uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 0;
  Tally tally;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed * 1'000'003);
    std::string text;
    switch (random.below(4)) {
      case 0:
        text = mutated_bytes(random);
        break;
      case 1:
        text = generated(random).dump();
        break;
      default: {
        Json document = Json::parse(random.one_of(seeds().texts), nullptr, false);
        if (document.is_discarded()) continue;
        for (std::size_t i = 1 + random.below(3); i > 0; --i) mutate(document, random);
        text = document.dump();
      }
    }
    digest(text, random.often(6) ? &registry : nullptr, tally);
    if (HasFatalFailure()) {
      FAIL() << "seed " << seed << ":\n" << text;
    }
  }
  RecordProperty("cases", std::to_string(tally.cases));
  RecordProperty("refused", std::to_string(tally.refused));
  std::printf("%zu cases, %zu refused\n", tally.cases, tally.refused);
  if (count >= 1000) {
    EXPECT_GT(tally.cases, count / 50)
        << "hardly anything decodes: the fuzzer tests the first check only";
    EXPECT_GT(tally.refused, count / 10);
  }
}

}  // namespace
}  // namespace lockstep
