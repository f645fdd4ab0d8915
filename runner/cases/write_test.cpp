#include "cases/write.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/sha256.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/fill.h"
#include "cases/suite.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class Writing : public testing::Test {
 protected:
  /// The operators of the build's torch, if it was built with one.
  static const Registry* operators() {
    static const Result<Registry> read =
        Registry::read(fs::path(LOCKSTEP_BINARY_DIR) / "bin" / "schemas.json");
    return read ? &*read : nullptr;
  }

  static std::optional<Case> decode(const std::string& text, const std::string& id,
                                    const std::optional<ValuePlace>& place = {}) {
    JsonFile file{id + ".json", text, {}, place};
    Diagnostics diagnostics;
    std::vector<std::string> unknown;
    parse_json(file, diagnostics);
    auto decoded = diagnostics.empty()
                       ? decode_case(file, substitute(file.root, {}, "cpu", unknown), id,
                                     {operators(), "cpu", true}, diagnostics)
                       : std::nullopt;
    for (const Diagnostic& each : diagnostics) ADD_FAILURE() << to_string(each) << "\n" << text;
    return decoded;
  }

  /// Whether an output is a list of tensors, taken by one name.
  static bool returns_a_list(const Case& declared) {
    for (const Step& step : declared.program.steps) {
      const auto* op = std::get_if<OpCall>(&step.does);
      const Overload* overload =
          op == nullptr || operators() == nullptr ? nullptr : operators()->find_overload(op->op);
      if (overload != nullptr && step.let.size() == 1 && overload->results.size() == 1 &&
          overload->results[0] == ValueKind::tensor_list &&
          contains(returned_values(declared.program), *step.let[0]))
        return true;
    }
    return false;
  }

  /// The bytes of all tensors of a case, with shapes and flags.
  static std::string bytes_of(const Case& declared) {
    std::string all;
    const auto add = [&](const TensorSpec& spec, const std::string& name) {
      all +=
          name + Json({spec.shape,
                       spec.strides,
                       {spec.offset, spec.storage_elements},
                       {spec.requires_grad, spec.conj, spec.neg, spec.constant, spec.zero_tensor}})
                     .dump();
      all += std::string(spec.dtype->name) + spec.view_of;
      if (!spec.view_of.empty() || spec.storage_elements > 1 << 16) return;
      const std::vector<std::byte> bytes = storage_bytes(spec, name);
      all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    for (const CallSpec& call : declared.calls) {
      for (const InputSpec& input : call.inputs) {
        if (const auto* spec = std::get_if<TensorSpec>(&input.value)) add(*spec, input.name);
      }
    }
    for (std::size_t i = 0; i < declared.literals.size(); ++i)
      add(declared.literals[i], "literal " + std::to_string(i));
    return all;
  }
};

// Every case that there is, but for sweeps, whose instances are too many: some of each.
TEST_F(Writing, GivesTheCaseThatWasDecoded) {
  Diagnostics diagnostics;
  auto suite = read_suite(LOCKSTEP_SOURCE_DIR, diagnostics);
  ASSERT_TRUE(suite);
  expand_sweeps(*suite, operators());
  std::size_t tried = 0;
  for (const CaseFile& file : *suite) {
    const std::size_t every = std::max<std::size_t>(1, file.choices.size() / 3);
    for (std::size_t i = 0; i < file.choices.size(); i += every) {
      std::vector<std::string> unknown;
      const auto first =
          decode_case(file.file, substitute(file.file.root, file.choices[i], "cpu", unknown),
                      file.id, {operators(), "cpu", true}, diagnostics);
      if (!first || !first->newer_lockstep.empty() || !first->lacking.empty()) continue;
      if (returns_a_list(*first)) continue;  // which a sweep alone may
      const std::string text = case_text(*first);
      const auto again = decode(text, file.id, file.file.place);
      ASSERT_TRUE(again) << file.id;
      EXPECT_EQ(first->program, again->program) << file.id << "\n" << text;
      EXPECT_EQ(bytes_of(*first), bytes_of(*again)) << file.id << "\n" << text.substr(0, 3000);
      EXPECT_EQ(text, case_text(*again)) << file.id;
      EXPECT_EQ(first->compare.size(), again->compare.size()) << file.id;
      EXPECT_EQ(first->random, again->random) << file.id;
      ++tried;
    }
  }
  EXPECT_GT(tried, 300U);
}

TEST_F(Writing, SaysWhichFilesLieBesideACase) {
  Diagnostics diagnostics;
  const CaseFile file = read_case_file(
      fs::path(LOCKSTEP_SOURCE_DIR) / "cases/format/values-in-files.json", "t.json", diagnostics);
  const auto declared =
      decode_case(file.file, file.file.root, "t", {operators(), "cpu", true}, diagnostics);
  ASSERT_TRUE(declared);
  const auto files = files_of(*declared);
  ASSERT_EQ(files.size(), 2U) << "that of the literal, too";
  for (const auto& [name, values] : files) {
    EXPECT_EQ(sha256(*values.bytes) + ".bin", name);
    EXPECT_EQ(case_text(*declared).find(name) != std::string::npos, true);
  }
}

TEST_F(Writing, ElementsAreTheShortestThatReadBack) {
  const auto of = [](const char* dtype, std::uint64_t low, std::uint64_t high = 0) {
    return element_to_json(*find_dtype(dtype), {low, high}).dump();
  };
  EXPECT_EQ(of("float32", 0x3dcccccd), "0.1");
  EXPECT_EQ(of("float16", 0x3c00), "1");
  EXPECT_EQ(of("float32", 0x80000000), "\"-0.0\"");
  EXPECT_EQ(of("float32", 0x7fc00001), R"({"bits":"0x7fc00001"})");
  EXPECT_EQ(of("float32", 0xff800000), "\"-inf\"");
  EXPECT_EQ(of("int8", 0xff), "-1");
  EXPECT_EQ(of("uint8", 0xff), "255");
  EXPECT_EQ(of("bool", 1), "true");
  EXPECT_EQ(of("complex64", 0x400000003f800000), R"({"complex":[1,2]})");
  EXPECT_EQ(of("complex128", 0x3ff0000000000000, 0x7ff0000000000000), R"({"complex":[1,"inf"]})");
}

}  // namespace
}  // namespace lockstep
