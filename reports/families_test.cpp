#include "reports/families.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"

namespace lockstep {
namespace {

TEST(Families, TheFirstTagOfTheTableDecides) {
  Verdict verdict;
  EXPECT_EQ(family_of(verdict), "others");
  verdict.facts.tags = {"index", "mutation", "reduction"};
  EXPECT_EQ(family_of(verdict), "reductions");
}

TEST(Families, ElseTheFirstOperatorDoes) {
  for (const auto& [op, family] : std::vector<std::pair<std::string, std::string_view>>{
           {"aten::sum.dim_IntList", "reductions"},
           {"aten::add_.Tensor", "others"},
           {"aten::mm.default", "matrix products"},
           {"aten::_scaled_mm.default", "matrix products"},
           {"aten::native_layer_norm.default", "normalizations"},
           {"aten::to.dtype", "casts"},
           {"aten::view.default", "shapes and copies"},
           {"aten::scatter_.src", "indexing"},
           {"aten::max_pool2d.default", "pooling"},
           {"aten::convolution.default", "convolutions"},
           {"aten::randn.default", "random numbers"},
           {"aten::linalg_qr.default", "linear algebra and FFT"},
           {"mylib::op.default", "others"},
           {"aten::__and__.Tensor", "others"}}) {
    Verdict verdict;
    verdict.facts.operators = {op, "aten::mm.default"};
    EXPECT_EQ(family_of(verdict), family) << op;
  }
}

TEST(Families, EachHasCasesInTheSuiteAndANameOfItsOwn) {
  std::string suite;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "cases")) {
    if (entry.path().extension() != ".json" || entry.path().parent_path().filename() == "schema")
      continue;
    const Result<std::string> text = read_file(entry.path());
    ASSERT_TRUE(text) << text.error().message;
    if (const std::size_t begin = text->find("\"tags\""); begin != std::string::npos)
      suite += text->substr(begin, text->find(']', begin) - begin);
  }
  std::set<std::string_view> names;
  for (const Family& family : all_families()) {
    if (!family.tag.empty()) {
      EXPECT_NE(suite.find('"' + std::string(family.tag) + '"'), std::string::npos) << family.tag;
    }
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
  }
}

}  // namespace
}  // namespace lockstep
