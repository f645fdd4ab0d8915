#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>

#include "base/json.h"
#include "base/text.h"
#include "verdict/verdict.h"

namespace lockstep {
namespace {

// Writing and reading go through one list of members for each struct (`members` below), so that a
// member cannot be written and not read.  A member that has its initial value is left out: run logs
// are long.

/// `T` is that struct, const for a Writer.
template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;

/// A struct that is an object in JSON.
template <class T>
concept Record = Is<T, RaisedError> || Is<T, HeatMap> || Is<T, DifferenceClasses> ||
    Is<T, FirstDifference> || Is<T, Accuracy> || Is<T, ErrorCurve> || Is<T, Measurement> ||
    Is<T, Difference> || Is<T, OutputComparison> || Is<T, ExpectationRef> ||
    Is<T, RelationFinding> || Is<T, Growth> || Is<T, Warnings>;

class Writer {
 public:
  /// `room`: for how many members; an object that grows copies whatever it has.
  Writer(Json& json, std::size_t room) : object_(json.get_ref<Json::object_t&>()) {
    object_.reserve(room);
  }

  template <class T>
  void operator()(const char* key, const T& value, const T& initial = {}) {
    if (!(value == initial)) always(key, value);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) always(key, *value);
  }
  template <class T>
  void always(const char* key, const T& value) {
    object_.emplace_back(key, encode(value));  // each key comes once: nobody need look for it
  }

 private:
  static Json encode(const std::string& value) { return valid_utf8(value); }
  static Json encode(bool value) { return value; }
  static Json encode(std::integral auto value) { return value; }
  // JSON has no spelling for these numbers.
  static Json encode(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
  }
  static Json encode(Status value) { return info(value).name; }
  static Json encode(Grade value) { return name_of(value); }
  static Json encode(Quantity value) { return name_of(value); }
  static Json encode(Standing value) { return name_of(value); }
  static Json encode(Nearer value) { return name_of(value); }
  static Json encode(UnsupportedBy value) { return name_of(value); }
  static Json encode(Witness value) { return name_of(value); }
  static Json encode(ErrorKind value) { return name_of(value); }
  static Json encode(Because value) { return name_of(value); }
  static Json encode(RelationKind value) { return name_of(value); }
  static Json encode(const Json& value) { return value; }
  template <class T>
  static Json encode(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(encode(value));
    return list;
  }
  template <class Number>
  static Json encode(const std::map<std::string, Number>& values) {
    Json object = Json::object();
    for (const auto& [key, value] : values) object[valid_utf8(key)] = encode(value);
    return object;
  }
  static Json encode(const std::map<Status, int>& counts) {
    Json object = Json::object();
    for (const auto& [status, count] : counts) object[std::string(info(status).name)] = count;
    return object;
  }
  template <Record T>
  static Json encode(const T& value);

  Json::object_t& object_;
};

class VerdictReader {
 public:
  VerdictReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  template <class T>
  void operator()(const char* key, T& value, const T& = {}) {
    if (const auto found = json_.find(key); found != json_.end()) read(key, *found, value);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (const auto found = json_.find(key); found != json_.end() && !found->is_null()) {
      read(key, *found, value.emplace());
    }
  }
  template <class T>
  void always(const char* key, T& value) {
    if (!json_.contains(key)) return wrong(key, "missing");
    (*this)(key, value);
  }

  /// The first thing that was wrong, or empty.
  const std::string& error() const { return error_; }

 private:
  void wrong(const std::string& key, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}/{}: {}", where_, key, what);
  }
  void expected(const std::string& key, std::string_view what, const Json& found) {
    wrong(key, fmt::format("{} expected, found {}", what, one_line(found.type_name())));
  }

  /// A word of a closed list, which `find` looks up.
  template <class Enum>
  void read_word(const std::string& key, const Json& json, Enum& value,
                 std::optional<Enum> (*find)(std::string_view), std::string_view what) {
    const auto found = json.is_string() ? find(json.get_ref<const std::string&>()) : std::nullopt;
    if (!found) return expected(key, what, json);
    value = *found;
  }
  void read(const std::string& key, const Json& json, std::string& value) {
    if (!json.is_string()) return expected(key, "a string", json);
    value = json.get<std::string>();
  }
  void read(const std::string& key, const Json& json, bool& value) {
    if (!json.is_boolean()) return expected(key, "true or false", json);
    value = json.get<bool>();
  }
  template <std::integral T>
  void read(const std::string& key, const Json& json, T& value) {
    // nlohmann keeps integers apart by sign; each is checked against the member's range.
    if (json.is_number_unsigned() && std::in_range<T>(json.get<std::uint64_t>())) {
      value = static_cast<T>(json.get<std::uint64_t>());
    } else if (json.is_number_integer() && !json.is_number_unsigned() &&
               std::in_range<T>(json.get<std::int64_t>())) {
      value = static_cast<T>(json.get<std::int64_t>());
    } else {
      expected(key, "an integer in range", json);
    }
  }
  void read(const std::string& key, const Json& json, double& value) {
    if (json.is_number()) {
      value = json.get<double>();
    } else if (json == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (json == "inf" || json == "-inf") {
      value = json == "inf" ? HUGE_VAL : -HUGE_VAL;
    } else {
      expected(key, "a number", json);
    }
  }
  void read(const std::string& key, const Json& json, Status& value) {
    const StatusInfo* found =
        json.is_string() ? find_status(json.get_ref<const std::string&>()) : nullptr;
    if (found == nullptr) return expected(key, "a status", json);
    value = found->status;
  }
  void read(const std::string& key, const Json& json, Grade& value) {
    read_word(key, json, value, find_grade, "a grade");
  }
  void read(const std::string& key, const Json& json, Quantity& value) {
    read_word(key, json, value, find_quantity, "what a rule measures");
  }
  void read(const std::string& key, const Json& json, Standing& value) {
    read_word(key, json, value, find_standing, "a standing");
  }
  void read(const std::string& key, const Json& json, Nearer& value) {
    read_word(key, json, value, find_nearer, "who is nearer to the gold");
  }
  void read(const std::string& key, const Json& json, UnsupportedBy& value) {
    read_word(key, json, value, find_unsupported_by, "who does without something");
  }
  void read(const std::string& key, const Json& json, Witness& value) {
    read_word(key, json, value, find_witness, "how it is known who executed");
  }
  void read(const std::string& key, const Json& json, ErrorKind& value) {
    read_word(key, json, value, find_error_kind, "whose words an error is");
  }
  void read(const std::string& key, const Json& json, Because& value) {
    read_word(key, json, value, find_because, "why a divergence is known");
  }
  void read(const std::string& key, const Json& json, RelationKind& value) {
    read_word(key, json, value, find_relation, "a kind of relation");
  }
  void read(const std::string&, const Json& json, Json& value) { value = json; }
  template <class T>
  void read(const std::string& key, const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return expected(key, "an array", json);
    for (std::size_t i = 0; i < json.size(); ++i) {
      read(fmt::format("{}/{}", key, i), json[i], values.emplace_back());
    }
  }
  template <class Number>
  void read(const std::string& key, const Json& json, std::map<std::string, Number>& values) {
    if (!json.is_object()) return expected(key, "an object", json);
    for (const auto& [name, value] : json.items()) {
      read(fmt::format("{}/{}", key, name), value, values[name]);
    }
  }
  void read(const std::string& key, const Json& json, std::map<Status, int>& counts) {
    if (!json.is_object()) return expected(key, "an object", json);
    for (const auto& [name, count] : json.items()) {
      const StatusInfo* found = find_status(name);
      if (found == nullptr) return wrong(key, "statuses expected, found " + one_line(name));
      read(fmt::format("{}/{}", key, name), count, counts[found->status]);
    }
  }
  template <Record T>
  void read(const std::string& key, const Json& json, T& value);

  const Json& json_;
  std::string where_;
  std::string error_;
};

// `Visitor` is a Writer or a VerdictReader.

template <class Visitor, Is<RaisedError> T>
void members(Visitor& visit, T& error) {
  visit("stage", error.stage);
  visit("class", error.class_name);
  visit("message", error.message);
  visit("wrapped", error.wrapped);
  visit("kind", error.kind);
  visit("detail", error.detail);
}

template <class Visitor, Is<HeatMap> T>
void members(Visitor& visit, T& heat) {
  visit("rows", heat.rows);
  visit("columns", heat.columns);
  visit("differing", heat.differing);
  visit("greatest", heat.greatest);
}

template <class Visitor, Is<DifferenceClasses> T>
void members(Visitor& visit, T& classes) {
  visit("nan", classes.nan);
  visit("infinity", classes.infinity);
  visit("zero_sign", classes.zero_sign);
  visit("subnormal", classes.subnormal);
  visit("last_bits", classes.last_bits);
  visit("value", classes.value);
  visit("eager_nan", classes.eager_nan);
  visit("eager_infinity", classes.eager_infinity);
  visit("compiled_infinity", classes.compiled_infinity);
}

template <class Visitor, Is<FirstDifference> T>
void members(Visitor& visit, T& first) {
  visit("index", first.index);
  visit("inputs", first.inputs);
  visit("eager", first.eager);
  visit("compiled", first.compiled);
}

template <class Visitor, Is<Accuracy> T>
void members(Visitor& visit, T& accuracy) {
  visit("inputs", accuracy.inputs);
  visit("elements", accuracy.elements);
  visit("eager", accuracy.eager);
  visit("compiled", accuracy.compiled);
}

template <class Visitor, Is<ErrorCurve> T>
void members(Visitor& visit, T& curve) {
  visit("input", curve.input);
  visit("from", curve.from);
  visit("eager", curve.eager);
  visit("compiled", curve.compiled);
}

template <class Visitor, Is<Measurement> T>
void members(Visitor& visit, T& check) {
  visit.always("policy", check.policy);
  visit.always("of", check.of);
  visit.always("measured", check.measured);
  visit.always("limit", check.limit);
  visit.always("ok", check.ok);
}

template <class Visitor, Is<Difference> T>
void members(Visitor& visit, T& difference) {
  visit.always("status", difference.status);
  visit("name", difference.name);
  visit("reason", difference.reason);
  visit("repetition", difference.repetition);
}

template <class Visitor, Is<OutputComparison> T>
void members(Visitor& visit, T& output) {
  visit.always("name", output.name);
  visit("policy", output.policy);
  visit.always("status", output.status);
  visit("reason", output.reason);
  visit("type", output.type);
  visit("grade", output.grade);
  visit("elements", output.elements);
  visit("differing", output.differing);
  visit("max_abs", output.max_abs);
  visit("max_rel", output.max_rel);
  visit("max_ulp", output.max_ulp);
  visit("worst", output.worst);
  visit("eager", output.eager);
  visit("compiled", output.compiled);
  visit("vacuous", output.vacuous);
  visit("weak", output.weak);
  visit("checks", output.checks);
  visit("grading", output.grading);
  visit("heat", output.heat);
  visit("classes", output.classes);
  visit("ulp_histogram", output.ulp_histogram);
  visit("first", output.first);
  visit("gold", output.gold);
  visit("accuracy", output.accuracy);
  visit("error_curve", output.error_curve);
  visit("tensors", output.tensors);
}

template <class Visitor, Is<ExpectationRef> T>
void members(Visitor& visit, T& expectation) {
  visit("file", expectation.file);
  visit.always("status", expectation.status);
  visit.always("because", expectation.because);
  visit("reason", expectation.reason);
  visit("link", expectation.link);
  visit("added", expectation.added);
  visit("every_path", expectation.every_path);
}

template <class Visitor, Is<RelationFinding> T>
void members(Visitor& visit, T& relation) {
  visit.always("kind", relation.kind);
  visit.always("output", relation.output);
  visit.always("asked", relation.asked);
  visit("eager", relation.eager);
  visit("path", relation.path);
  visit("undecided", relation.undecided);
  visit("first", relation.first);
}

template <class Visitor, Is<Growth> T>
void members(Visitor& visit, T& growth) {
  visit.always("output", growth.output);
  visit.always("free", growth.free);
  visit.always("restarted", growth.restarted);
}

template <class Visitor, Is<Warnings> T>
void members(Visitor& visit, T& warnings) {
  visit("same", warnings.same);
  visit("lost", warnings.lost);
  visit("added", warnings.added);
}

template <class Visitor, Is<Verdict> T>
void members(Visitor& visit, T& verdict) {
  visit.always("id", verdict.facts.id);
  visit.always("instance", verdict.facts.instance);
  visit.always("path", verdict.facts.path);
  visit.always("device", verdict.facts.device);
  visit("reference", verdict.facts.reference);
  visit("title", verdict.facts.title);
  visit("case_file", verdict.facts.case_file);
  visit("case_line", verdict.facts.case_line, 1);
  visit("own", verdict.facts.own);
  visit.always("index", verdict.facts.index);
  visit.always("status", verdict.found.status);
  visit("grade", verdict.found.grade);
  visit("reason", verdict.found.reason);
  visit("unsupported_by", verdict.found.unsupported_by);
  visit("nearer", verdict.found.nearer);
  visit("outputs", verdict.found.outputs);
  visit("differences", verdict.found.differences);
  visit("relations", verdict.found.relations);
  visit("warnings", verdict.found.warnings);
  visit("growth", verdict.found.growth);
  visit("shared", verdict.origin.shared);
  visit("threads", verdict.facts.threads);
  visit("unstable", verdict.found.unstable);
  visit("executions", verdict.found.executions);
  visit("vacuous", verdict.found.vacuous);
  visit("weak", verdict.found.weak);
  visit("front_end", verdict.found.front_end);
  visit("never_asked", verdict.found.never_asked);
  visit("inputs_known", verdict.found.inputs_known);
  visit("draws", verdict.found.draws);
  visit("execution", verdict.found.execution);
  visit("unsaid", verdict.found.unsaid);
  visit("foreign_fraction", verdict.found.foreign_fraction);
  visit("permitted_fraction", verdict.found.permitted_fraction);
  visit("through_aot", verdict.found.through_aot);
  visit("eager_digest", verdict.found.eager_digest);
  visit("eager_error", verdict.found.eager_error);
  visit("compiled_error", verdict.found.compiled_error);
  visit("stage", verdict.found.stage);
  visit("proof", verdict.found.proof);
  visit("phases", verdict.origin.phases);
  visit("reused", verdict.origin.reused);
  visit("seconds", verdict.origin.seconds);
  visit("peak_memory_bytes", verdict.origin.peak_memory_bytes);
  visit("stderr_tail", verdict.origin.stderr_tail);
  visit.always("standing", verdict.account.standing);
  visit("expectation", verdict.account.expectation);
  visit("links", verdict.facts.links);
  visit("unverified", verdict.facts.unverified);
  visit("repro", verdict.origin.repro);
  visit("program", verdict.facts.program);
  visit("tags", verdict.facts.tags);
  visit("operators", verdict.facts.operators);
  visit("dtypes", verdict.facts.dtypes);
  visit("uses", verdict.origin.uses);
}

template <Record T>
Json Writer::encode(const T& value) {
  Json json = Json::object();
  Writer writer(json, 16);
  members(writer, value);
  return json;
}

template <Record T>
void VerdictReader::read(const std::string& key, const Json& json, T& value) {
  if (!json.is_object()) return expected(key, "an object", json);
  VerdictReader reader(json, fmt::format("{}/{}", where_, key));
  members(reader, value);
  if (error_.empty()) error_ = reader.error();
}

}  // namespace

Json to_json(const Verdict& verdict) {
  Json json = Json::object();
  Writer writer(json, 64);
  members(writer, verdict);
  return json;
}

Result<Verdict> verdict_from_json(const Json& json) {
  if (!json.is_object()) {
    return fail(fmt::format("a verdict is an object, found {}", json.type_name()));
  }
  Verdict verdict;
  VerdictReader reader(json, "");
  members(reader, verdict);
  if (!reader.error().empty()) return fail(fmt::format("verdict: {}", reader.error()));
  return verdict;
}

}  // namespace lockstep
