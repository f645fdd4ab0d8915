#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/splitmix.h"

// What the fuzzers of files, lines, observations and logs share.  For tests only.
namespace lockstep::fuzz {

/// Numbers of which a failing seed is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return splitmix64(state_); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  bool often(std::size_t of_eight) { return below(8) < of_eight; }
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

/// What one test does.  LOCKSTEP_FUZZ: how many inputs; LOCKSTEP_FUZZ_SEED: the first.
struct Stint {
  std::uint64_t begin = 0;
  std::uint64_t count = 1000;
};

inline Stint stint() {
  Stint result;
  if (const char* asked = std::getenv("LOCKSTEP_FUZZ"))
    result.count = std::strtoull(asked, nullptr, 10);
  if (const char* first = std::getenv("LOCKSTEP_FUZZ_SEED"))
    result.begin = std::strtoull(first, nullptr, 10);
  return result;
}

/// How long inputs take, and which took longest.
class Stopwatch {
 public:
  template <class Digest>
  void time(std::uint64_t seed, Digest digest) {
    const auto start = Clock::now();
    digest();
    const auto took = Clock::now() - start;
    all_ += took;
    ++inputs_;
    if (took <= slowest_) return;
    slowest_ = took;
    seed_ = seed;
  }
  /// "3,000 lines in 0.1 s; the slowest line, seed 5, took 0.3 ms".
  void print(const char* what) const {
    using Seconds = std::chrono::duration<double>;
    std::printf("%llu times a %s in %.1f s; the slowest %s, seed %llu, took %.1f ms\n",
                static_cast<unsigned long long>(inputs_), what, Seconds(all_).count(), what,
                static_cast<unsigned long long>(seed_), 1000 * Seconds(slowest_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration all_{}, slowest_{};
  std::uint64_t inputs_ = 0;
  std::uint64_t seed_ = 0;
};

/// A text with a few bytes changed, gone, moved or said twice.
inline std::string changed_bytes(std::string text, Random& random) {
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

/// Values that find boundaries of what a program reads.
inline Json boundary(Random& random) {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1,
                                           2,
                                           4096,
                                           65537,
                                           2.5,
                                           1e308,
                                           INT64_MAX,
                                           INT64_MIN,
                                           UINT64_MAX,
                                           std::int64_t{1} << 31,
                                           "",
                                           "0",
                                           "float64",
                                           "complex128",
                                           "nan",
                                           "\xc3\xa9\n",
                                           std::string(300, 'a'),
                                           Json::array(),
                                           Json::object(),
                                           {0, 0},
                                           {1, 1, 1, 1},
                                           {16777216, 16777216},
                                           Json::array({Json::array({Json::array()})}),
                                           Json{{"float", "0x1p99999"}},
                                           Json{{"str", "mean"}},
                                           Json{{"complex", {"inf", "0x0p+0"}}}};
  return random.one_of(values);
}

/// Every value of a document, the document itself first.
inline void values_of(Json& document, std::vector<Json*>& values) {
  values.push_back(&document);
  if (!document.is_structured()) return;
  for (Json& child : document) values_of(child, values);
}

/// Changes one number, flag or text of a document into something that may well stand there.
inline void nudge_value(Json& document, Random& random) {
  std::vector<Json*> values, leaves;
  values_of(document, values);
  for (Json* value : values) {
    if (value->is_primitive() && !value->is_null()) leaves.push_back(value);
  }
  if (leaves.empty()) return;
  Json& leaf = *random.one_of(leaves);
  const Json& other = *random.one_of(leaves);
  if (leaf.is_boolean()) {
    leaf = !leaf.get<bool>();
  } else if (leaf.is_number_integer() && random.often(6)) {
    // As unsigned: the greatest integer has a next one.
    leaf = static_cast<std::int64_t>(leaf.get<std::uint64_t>() + random.below(5) - 2);
  } else if (leaf.type() == other.type()) {
    leaf = Json(other);
  }
}

/// Changes one place of a document: a value becomes another one of it, or a boundary, or is gone,
/// or is there twice.
inline void change_value(Json& document, Random& random) {
  std::vector<Json*> values;
  values_of(document, values);
  Json& place = *random.one_of(values);
  const Json other = *random.one_of(values);
  if (!place.is_structured() || place.empty() || random.often(3)) {
    place = random.often(5) ? boundary(random) : other;
    return;
  }
  auto child = place.begin();
  std::advance(child, random.below(place.size()));
  if (random.often(3)) {
    place.erase(child);
  } else if (place.is_array() && random.often(4) && place.size() < 100) {
    place.push_back(Json(*child));
  } else {
    *child = random.often(4) ? boundary(random) : other;
  }
}

/// A JSON text that is changed here and there: as text, or as the document that it is.
inline std::string changed_json(const std::string& text, Random& random) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || random.often(2)) return changed_bytes(text, random);
  for (std::size_t i = 1 + random.below(2); i > 0; --i) {
    if (random.often(5)) {
      nudge_value(document, random);
    } else {
      change_value(document, random);
    }
  }
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep::fuzz
