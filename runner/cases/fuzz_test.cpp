#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/fuzzing.h"
#include "base/sha256.h"
#include "base/wide.h"
#include "cases/decode.h"
#include "cases/inputs.h"
#include "cases/mutations.h"
#include "cases/show.h"
#include "cases/write.h"
#include "plan/plan.h"
#include "program/visit.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

/// Input bytes are only made of what is small: their number is the file's own wish.
constexpr std::int64_t kMostBytes = 1 << 16;

struct Tally {
  std::size_t cases = 0;
  std::size_t refused = 0;
  std::size_t planned = 0;  ///< instances that a plan took
  std::size_t made = 0;     ///< instances whose inputs were made
};

std::int64_t bytes_of(const TensorSpec& spec) { return spec.storage_elements * spec.dtype->bytes; }

std::int64_t bytes_of(const Case& declared) {
  std::int64_t bytes = 0;
  const auto add = [&](const std::vector<TensorSpec>& specs) {
    for (const TensorSpec& spec : specs) bytes = std::max(bytes, bytes_of(spec));
  };
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      if (const auto* spec = std::get_if<TensorSpec>(&input.value))
        bytes = std::max(bytes, bytes_of(*spec));
    }
  }
  add(declared.literals);
  if (declared.prepare) add(declared.prepare->literals);
  return bytes;
}

/// Whether every view lies within its storage, as a worker takes for granted.
void expect_within(const Json& view, const Json& storages) {
  if (!view.is_object() || !view.contains("storage")) return;
  const Dtype* dtype = find_dtype(view["dtype"].get<std::string>());
  ASSERT_NE(dtype, nullptr);
  const auto shape = view["shape"].get<std::vector<std::int64_t>>();
  const auto strides = view["strides"].get<std::vector<std::int64_t>>();
  ASSERT_EQ(shape.size(), strides.size());
  Wide end = static_cast<Wide>(view["offset"].get<std::int64_t>()) + 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return;
    end += static_cast<Wide>(shape[i] - 1) * static_cast<Wide>(strides[i]);
  }
  const auto bytes = storages.at(view["storage"].get<std::size_t>())["bytes"].get<std::int64_t>();
  ASSERT_LE(end * static_cast<Wide>(dtype->bytes), static_cast<Wide>(bytes)) << view.dump();
}

struct EraseSources : Visitor {
  void step(Step& step) { step.source.reset(); }
};

/// What a worker reads of the message is the program that was sent, but for where it came from.
void expect_read_back(Program program, const InputSet& set) {
  EraseSources erase;
  walk(program, erase);
  Json literals = Json::array();
  const auto read = program_from_json(set.wire_program(), literals);
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_TRUE(*read == program) << set.wire_program().dump();
  ASSERT_EQ(literals, set.literals);
}

/// Makes the inputs as `run` does.
void make_inputs(const Case& declared, Tally& tally) {
  if (bytes_of(declared) > kMostBytes) return;
  static const struct Folder {
    fs::path path = fs::path(testing::TempDir()) / ("lockstep-fuzz-" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
  } folder;
  const auto set = write_inputs(declared, folder.path, nullptr);
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->calls.size(), declared.calls.size());
  for (const Json& call : set->calls) {
    for (const Json& view : call["inputs"])
      ASSERT_NO_FATAL_FAILURE(expect_within(view, set->storages));
  }
  ASSERT_NO_FATAL_FAILURE(expect_read_back(declared.program, *set));
  if (declared.prepare) {
    const auto made = write_prepare_inputs(*declared.prepare, folder.path);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_NO_FATAL_FAILURE(expect_read_back(declared.prepare->program, *made));
  }
  ++tally.made;
}

/// Parses, expands and decodes as `check` does; of a case shows, plans and makes inputs as well.
/// Whether it is a case is counted by the caller.
void digest(const std::string& text, const Registry* registry, const std::vector<Path>& paths,
            bool& valid, Tally& tally) {
  valid = false;
  Diagnostics diagnostics;
  std::vector<CaseFile> suite;
  suite.push_back(parse_case_file({"cases/t.json", text, {}}, diagnostics));
  const CaseFile& file = suite.front();
  if (!diagnostics.empty()) return;
  // Without a registry a sweep has no instances, and its matrix alone is decoded.
  if (registry != nullptr) expand_sweeps(suite, registry);
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
    ASSERT_NO_FATAL_FAILURE(make_inputs(*declared, tally));
  }
  valid = diagnostics.empty();
  ASSERT_LT(diagnostics.size(), 2000U);
  for (const Diagnostic& diagnostic : diagnostics) ASSERT_FALSE(to_string(diagnostic).empty());
  if (!valid || file.choices.size() > 16) return;
  const Plan plan =
      make_plan({&suite, paths, {"cpu"}, *Filter::parse({}), {registry, "cpu", true}}, diagnostics);
  ASSERT_LE(plan.instances.size(), file.choices.size());
  ASSERT_LE(plan.items.size(), plan.instances.size() * paths.size());
  tally.planned += plan.instances.size();
}

/// Whatever a file says, decoding it gives an error or a case: no crash, no hang, no memory that
/// grows with a number in the file.  LOCKSTEP_FUZZ: how many files; LOCKSTEP_FUZZ_SEED: the first.
TEST(Fuzz, EveryFileGivesAnErrorOrACase) {
  const fs::path source = LOCKSTEP_SOURCE_DIR;
  const Registry registry = *Registry::read(source / "runner/cases/testdata/schemas.json");
  Diagnostics none;
  const std::vector<Path> paths = read_paths(source / "runner/paths", {}, {}, none);
  const auto [begin, count] = fuzz::stint();
  Tally tally;
  fuzz::Stopwatch watch;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed * 1'000'003);
    const std::string text = fuzz::made_file(random);
    bool valid = false;
    watch.time(seed, [&] {
      digest(text, &registry, paths, valid, tally);
      // The registry of the tests has few operators: most cases use others.
      if (!valid && !HasFatalFailure()) digest(text, nullptr, paths, valid, tally);
    });
    ++(valid ? tally.cases : tally.refused);
    if (HasFatalFailure()) {
      FAIL() << "seed " << seed << ":\n" << text;
    }
  }
  std::printf("%zu cases, %zu refused; %zu instances planned, inputs made for %zu\n", tally.cases,
              tally.refused, tally.planned, tally.made);
  watch.print("file");
  if (count >= 1000) {
    EXPECT_GT(tally.cases, count / 5) << "little decodes: the fuzzer tests the first checks only";
    EXPECT_GT(tally.made, count / 5);
    EXPECT_GT(tally.planned, count / 5);
    EXPECT_GT(tally.refused, count / 5);
  }
}

/// Whatever lies beside a case under the name of its values: it is refused, or the inputs are the
/// bytes that the name stands for.
TEST(Fuzz, EveryFileOfValuesIsRefusedOrRight) {
  const fs::path folder =
      fs::path(testing::TempDir()) / fmt::format("lockstep-values-{}", ::getpid());
  const fs::path beside = folder / kValuesFolder;
  const auto [begin, count] = fuzz::stint();
  fs::remove_all(folder);
  fs::create_directories(beside);
  std::size_t right = 0;
  fuzz::Stopwatch watch;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    SCOPED_TRACE(seed);
    fuzz::Random random(seed * 1'000'003);
    std::string bytes(random.below(40), '\0');
    for (char& each : bytes) each = static_cast<char>(random.below(256));
    const std::string name = sha256(bytes) + ".bin";
    const fs::path file = beside / name;
    switch (random.below(6)) {
      case 0:
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
        break;
      case 1:
        fs::create_symlink(random.often(2) ? "/dev/zero" : "../elsewhere", file);
        ASSERT_TRUE(write_file(folder / "elsewhere", bytes));
        break;
      case 2:
        ASSERT_TRUE(write_file(file, fuzz::changed_bytes(bytes, random)));
        break;
      default:
        ASSERT_TRUE(write_file(file, bytes));
    }
    std::string text = Json{
        {"format", 1},
        {"title", "t"},
        {"inputs",
         {{"x",
           {{"dtype", random.often(6) ? "uint8" : "float16"},
            {"shape", {random.often(1) ? random.below(50) : bytes.size()}},
            {"file", name}}}}},
        {"steps", {{{"let", "y"}, {"op", "neg"}, {"args", {"%x"}}}}},
        {"outputs", {"y"}}}.dump();
    if (random.often(2)) text = fuzz::changed_json(text, random);
    watch.time(seed, [&] {
      JsonFile json{"t.json", text, {}, ValuePlace{folder, std::make_shared<ValueFiles>(30)}};
      Diagnostics wrong;
      parse_json(json, wrong);
      if (!wrong.empty()) return;
      const auto declared = decode_case(json, json.root, "t", {nullptr, "cpu", false}, wrong);
      ASSERT_EQ(declared.has_value(), wrong.empty());
      if (!declared) return;
      for (const auto& [named, values] : files_of(*declared)) {
        ASSERT_EQ(sha256(*values.bytes) + ".bin", named);
        ASSERT_LE(values.bytes->size(), 30U);
        ++right;
      }
    });
    if (HasFatalFailure()) {
      FAIL() << "seed " << seed << ":\n" << text;
    }
    fs::remove(file);
  }
  fs::remove_all(folder);
  std::printf("%zu files read\n", right);
  watch.print("file of values");
  if (count >= 1000) {
    EXPECT_GT(right, count / 20);
    EXPECT_LT(right, count / 2);
  }
}

}  // namespace
}  // namespace lockstep
