#include "wire/observation.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/text.h"

namespace lockstep {
namespace {

// A worker may be anybody's program, or a process that a bug of the compiler made write nonsense.
// Whatever is in the file, reading it ends with an observation whose views are safe to read, or
// with an Error.

constexpr std::int64_t kLargestFile = 16 << 20;
/// Elements of a view that shows parts of its storage more than once.  Windows of a real program
/// stay far below; what is above has no memory behind it that would bound the judge's time.
constexpr std::int64_t kMostOverlapping = std::int64_t{1} << 31;
constexpr std::size_t kMostStorages = 1 << 14;
constexpr std::size_t kMostDimensions = 64;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostKeys = 4096;
constexpr std::size_t kLongestWord = 256;
constexpr std::size_t kLongestMessage = 16 << 10;

/// Thrown inside this file only, and caught in read_observation: a reader of a tree is all "or give
/// up".
struct Broken {
  std::string message;
};

[[noreturn]] void broken(std::string_view where, std::string_view what) {
  throw Broken{fmt::format("{}: {}", where.empty() ? "/" : where, what)};
}

/// A value and its JSON pointer.
struct JsonAt {
  const Json& json;
  std::string where;

  bool has(const char* key) const {
    const auto found = json.find(key);
    return found != json.end() && !found->is_null();
  }
  JsonAt at(const char* key) const {
    const auto found = json.find(key);
    if (found == json.end()) broken(where, fmt::format("'{}' is missing", key));
    return {*found, child_pointer(where, key)};
  }
  JsonAt at(std::size_t index) const { return {json[index], fmt::format("{}/{}", where, index)}; }

  const JsonAt& object() const {
    if (!json.is_object()) wrong("an object");
    return *this;
  }
  std::size_t array() const {
    if (!json.is_array()) wrong("an array");
    return json.size();
  }
  std::string string(std::size_t longest = kLongestWord) const {
    if (!json.is_string()) wrong("a string");
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > longest) broken(where, fmt::format("longer than {} bytes", longest));
    return text;
  }
  std::int64_t integer() const {
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() && !std::in_range<std::int64_t>(json.get<std::uint64_t>()))) {
      wrong("a 64-bit integer");
    }
    return json.get<std::int64_t>();
  }
  std::int64_t count() const {
    const std::int64_t value = integer();
    if (value < 0) wrong("an integer that is not negative");
    return value;
  }
  bool boolean() const {
    if (!json.is_boolean()) wrong("true or false");
    return json.get<bool>();
  }
  double number() const {
    if (!json.is_number()) wrong("a number");
    return json.get<double>();
  }
  [[noreturn]] void wrong(std::string_view expected) const {
    broken(where, fmt::format("{} expected, found {}", expected, describe_json(json)));
  }
};

/// Text of any length, cut to what a report can show.
std::string bounded_text(const JsonAt& node) {
  std::string text = node.string(std::numeric_limits<std::size_t>::max());
  if (text.size() <= kLongestMessage) return text;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

/// "0x1.8p+1", "-0x0p+0", "inf", "-inf", "nan".
double hexadecimal(const JsonAt& node) {
  const std::string text = node.string();
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  double value = 0;
  if (rest == "inf") {
    value = HUGE_VAL;
  } else if (rest == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (!rest.starts_with("0x")) node.wrong("a C99 hexadecimal float");
    rest.remove_prefix(2);
    const auto [end, code] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::hex);
    if (code != std::errc() || end != rest.data() + rest.size() || rest.starts_with('-')) {
      node.wrong("a C99 hexadecimal float");
    }
  }
  return negative ? -value : value;
}

ScalarValue read_scalar(const JsonAt& node) {
  const Json& json = node.json;
  if (json.is_null()) return std::monostate{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number()) return node.integer();
  if (json.is_object()) {
    if (json.contains("float")) return hexadecimal(node.at("float"));
    if (json.contains("str")) return bounded_text(node.at("str"));
    if (json.contains("complex")) {
      const JsonAt parts = node.at("complex");
      if (parts.array() != 2) parts.wrong("two floats");
      return std::complex<double>(hexadecimal(parts.at(std::size_t{0})),
                                  hexadecimal(parts.at(std::size_t{1})));
    }
  }
  node.wrong("a view or a scalar value");
}

std::vector<std::int64_t> read_counts(const JsonAt& node, std::size_t most) {
  if (node.array() > most) broken(node.where, fmt::format("more than {} entries", most));
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < node.json.size(); ++i) values.push_back(node.at(i).count());
  return values;
}

Quantizer read_quantizer(const JsonAt& node, const std::vector<std::int64_t>& shape) {
  Quantizer quantizer;
  quantizer.scheme = node.object().at("scheme").string();
  const JsonAt scales = node.at("scales");
  const JsonAt zeros = node.at("zero_points");
  if (scales.array() != zeros.array()) node.wrong("as many scales as zero points");
  for (std::size_t i = 0; i < scales.json.size(); ++i) {
    const JsonAt scale = scales.at(i);
    quantizer.scales.push_back(scale.json.is_object() ? hexadecimal(scale.at("float"))
                                                      : scale.number());
    quantizer.zero_points.push_back(zeros.at(i).integer());
  }
  if (node.has("axis")) quantizer.axis = node.at("axis").integer();
  if (quantizer.scales.size() != 1) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (quantizer.axis < 0 || quantizer.axis >= rank ||
        !std::cmp_equal(quantizer.scales.size(), shape[static_cast<std::size_t>(quantizer.axis)])) {
      node.wrong("one scale, or one for each index along the axis");
    }
  }
  return quantizer;
}

class Storages {
 public:
  Storages(const JsonAt& list, const std::filesystem::path& directory) {
    if (list.array() > kMostStorages) {
      broken(list.where, fmt::format("more than {} storages", kMostStorages));
    }
    for (std::size_t i = 0; i < list.json.size(); ++i) add(list.at(i), directory);
  }

  std::span<const std::byte> bytes(const JsonAt& index) const {
    const std::int64_t at = index.integer();
    if (at < 0 || !std::cmp_less(at, bytes_.size())) {
      broken(index.where, fmt::format("storage {} of {}", at, bytes_.size()));
    }
    return bytes_[static_cast<std::size_t>(at)];
  }
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }

 private:
  void add(const JsonAt& node, const std::filesystem::path& directory) {
    const std::string name = node.object().at("file").string();
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      node.at("file").wrong("a plain file name");
    }
    const std::int64_t claimed = node.at("bytes").count();
    auto file = MappedFile::open(directory / name);
    if (!file) broken(node.where, file.error().message);
    const std::span<const std::byte> all = (*file)->bytes();
    if (std::cmp_less(all.size(), claimed)) {
      broken(node.where, fmt::format("{} bytes promised, the file has {}", claimed, all.size()));
    }
    bytes_.push_back(all.first(static_cast<std::size_t>(claimed)));
    files_.push_back(std::move(*file));
  }

  std::vector<std::span<const std::byte>> bytes_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

/// How many elements of the view the judge looks at: those along expanded dimensions once.
std::int64_t looked_at(const TensorView& view) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.strides[d] != 0 || view.shape[d] == 0) elements *= view.shape[d];
  }
  return elements;
}

TensorView read_view(const JsonAt& node, const Storages& storages) {
  TensorView view;
  const JsonAt storage = node.at("storage");
  view.bytes = storages.bytes(storage);
  view.storage = static_cast<int>(storage.integer());
  const std::string dtype = node.at("dtype").string();
  view.dtype = find_dtype(dtype);
  if (view.dtype == nullptr) {
    broken(node.where, fmt::format("unknown dtype '{}'", one_line(dtype, 60)));
  }
  view.shape = read_counts(node.at("shape"), kMostDimensions);
  view.strides = read_counts(node.at("strides"), kMostDimensions);
  if (view.shape.size() != view.strides.size()) {
    broken(node.where,
           fmt::format("{} sizes but {} strides", view.shape.size(), view.strides.size()));
  }
  if (node.has("offset")) view.offset = node.at("offset").count();
  if (node.has("device")) view.device = node.at("device").string();
  if (node.has("layout")) view.layout = node.at("layout").string();
  if (node.has("requires_grad")) view.requires_grad = node.at("requires_grad").boolean();
  if (node.has("conj")) view.conj = node.at("conj").boolean();
  if (node.has("neg")) view.neg = node.at("neg").boolean();
  if (node.has("is")) view.is = node.at("is").string();
  if (node.has("quantizer")) view.quantizer = read_quantizer(node.at("quantizer"), view.shape);
  if (!fits_storage(view)) {
    broken(node.where, fmt::format("the view {} with strides [{}] and offset {} leaves its storage "
                                   "of {} bytes",
                                   describe(view), fmt::join(view.strides, ", "), view.offset,
                                   view.bytes.size()));
  }
  const std::int64_t elements = looked_at(view);
  if (elements > kMostOverlapping &&
      std::cmp_greater(elements, view.bytes.size() / static_cast<std::size_t>(view.dtype->bytes))) {
    broken(node.where,
           fmt::format("the view {} with strides [{}] shows {} elements of a storage of {} bytes",
                       describe(view), fmt::join(view.strides, ", "), elements, view.bytes.size()));
  }
  return view;
}

NamedValues read_values(const JsonAt& node, const Storages& storages) {
  NamedValues values;
  node.object();
  for (const auto& [name, json] : node.json.items()) {
    const JsonAt value{json, child_pointer(node.where, name)};
    if (name.size() > kLongestWord) broken(node.where, "a name longer than 256 bytes");
    if (json.is_object() && json.contains("storage")) {
      values.emplace_back(name, read_view(value, storages));
    } else {
      values.emplace_back(name, read_scalar(value));
    }
  }
  return values;
}

std::vector<Repetition> read_runs(const JsonAt& runs, const Storages& storages) {
  std::vector<Repetition> repetitions;
  for (std::size_t r = 0; r < runs.array(); ++r) {
    const JsonAt calls = runs.at(r).object().at("calls");
    Repetition& repetition = repetitions.emplace_back();
    for (std::size_t c = 0; c < calls.array(); ++c) {
      const JsonAt call = calls.at(c);
      CallResult& result = repetition.emplace_back();
      result.outputs = read_values(call.object().at("outputs"), storages);
      if (call.has("inputs")) result.inputs = read_values(call.at("inputs"), storages);
      if (call.has("grads")) result.grads = read_values(call.at("grads"), storages);
    }
  }
  return repetitions;
}

RaisedError read_error(const JsonAt& node) {
  RaisedError error;
  node.object();
  if (node.has("stage")) error.stage = node.at("stage").string();
  error.class_name = node.at("class").string();
  error.message = bounded_text(node.at("message"));
  if (node.has("wrapped")) {
    const JsonAt wrapped = node.at("wrapped");
    for (std::size_t i = 0; i < wrapped.array(); ++i) {
      error.wrapped.push_back(wrapped.at(i).string());
    }
  }
  error.kind = node.has("kind") ? node.at("kind").string() : "error";
  if (error.kind != "error" && error.kind != "refused" && error.kind != "internal") {
    node.at("kind").wrong("error, refused or internal");
  }
  return error;
}

void read_outcome(const JsonAt& root, Observation& observation) {
  const std::string outcome = root.at("outcome").string();
  if (outcome == "returned") {
    observation.outcome = Outcome::returned;
    if (observation.repetitions.empty() || observation.repetitions.front().empty()) {
      broken(root.where, "returned, but no call is recorded");
    }
  } else if (outcome == "raised") {
    observation.outcome = Outcome::raised;
    observation.error = read_error(root.at("error"));
  } else if (outcome == "unsupported") {
    observation.outcome = Outcome::unsupported;
    observation.reason = bounded_text(root.at("reason"));
  } else {
    root.at("outcome").wrong("returned, raised or unsupported");
  }
}

Observation read_tree(const JsonAt& root, const Storages& storages, bool outermost) {
  Observation observation;
  root.object();
  if (root.has("runs")) observation.repetitions = read_runs(root.at("runs"), storages);
  if (root.has("reason")) observation.reason = bounded_text(root.at("reason"));
  read_outcome(root, observation);
  if (root.has("stage")) observation.stage = root.at("stage").string();
  if (root.has("proof")) observation.proof = root.at("proof").object().json;
  if (root.has("phases")) {
    const JsonAt phases = root.at("phases").object();
    for (const auto& [name, json] : phases.json.items()) {
      observation.phases[name] = JsonAt{json, child_pointer(phases.where, name)}.number();
    }
  }
  if (root.has("peak_memory_bytes")) {
    observation.peak_memory_bytes = root.at("peak_memory_bytes").count();
  }
  observation.storages = storages.files();
  if (root.has("reference")) {
    if (!outermost) broken(root.where, "a reference inside a reference");
    observation.reference =
        std::make_shared<const Observation>(read_tree(root.at("reference"), storages, false));
  }
  return observation;
}

/// The file, if it is a regular one of bearable size.
std::string read_bounded(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file) throw Broken{file.error().message};
  const std::span<const std::byte> bytes = (*file)->bytes();
  if (std::cmp_greater(bytes.size(), kLargestFile)) {
    broken("", fmt::format("{} bytes are more than an observation may have", bytes.size()));
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What must hold before the text goes to a parser: bounded nesting, and bounded objects, because
/// an object that keeps the order of its keys looks each of them up one by one.
void check_bounds(std::string_view text) {
  std::vector<std::size_t> separators;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      separators.push_back(0);
      if (separators.size() > kDeepest) broken("", fmt::format("nested deeper than {}", kDeepest));
    } else if ((c == '}' || c == ']') && !separators.empty()) {
      separators.pop_back();
    } else if (c == ':' && !separators.empty() && ++separators.back() > kMostKeys) {
      broken("", fmt::format("an object of more than {} keys", kMostKeys));
    }
  }
}

/// What `read` returns, or why it gave up.
template <class Read>
auto unless_broken(std::string_view what, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const Broken& reason) {
    return fail(fmt::format("broken {}: {}", what, one_line(reason.message, 600)));
  } catch (const nlohmann::json::exception& error) {
    return fail(fmt::format("broken {}: {}", what, one_line(error.what())));
  } catch (const std::bad_alloc&) {
    return fail(fmt::format("broken {}: too large for the memory", what));
  }
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  constexpr std::array<std::string_view, 7> names = {
      "returned", "raised", "unsupported", "crashed", "timed_out", "out_of_memory", "lost"};
  return names[static_cast<std::size_t>(outcome)];
}

Result<Observation> read_observation(const std::filesystem::path& directory) {
  return unless_broken("observation", [&] {
    const std::string text = read_bounded(directory / "observation.json");
    check_bounds(text);
    const Json tree = Json::parse(text);
    const JsonAt root{tree, ""};
    root.object();
    static const Json none = Json::array();
    const Storages storages(root.has("storages") ? root.at("storages") : JsonAt{none, "/storages"},
                            directory);
    return read_tree(root, storages, true);
  });
}

Result<Inputs> read_calls(const std::filesystem::path& directory, const Json& storages,
                          const Json& calls) {
  return unless_broken("inputs", [&] {
    const Storages mapped({storages, "/storages"}, directory);
    Inputs inputs;
    const JsonAt list{calls, "/calls"};
    for (std::size_t i = 0; i < list.array(); ++i) {
      inputs.calls.push_back(read_values(list.at(i).object().at("inputs"), mapped));
    }
    inputs.storages = mapped.files();
    return inputs;
  });
}

}  // namespace lockstep
