#include "paths/policy_of_case.h"

#include <gtest/gtest.h>

#include "cases/decode.h"
#include "cases/testdata/registry.h"

namespace lockstep {
namespace {

TEST(PolicyOfCase, IsForAnOutputAndAPath) {
  JsonFile file{
      "t.json",
      R"json({"format": 1, "title": "t", "inputs": {"x": {"dtype": "float32", "shape": [4], "fill": "normal", "requires_grad": true}},
      "steps": [{"let": "y", "op": "relu", "args": ["%x"]}], "outputs": ["y"], "backward": {"of": ["y"]},
      "compare": {"y": {"*": "bits", "inductor": "close"}, "x.grad": "ulp(2)"}})json",
      {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  const auto decoded =
      decode_case(file, file.root, "t", {&dumped_operators(), "cpu", false}, diagnostics);
  ASSERT_TRUE(decoded) << to_string(diagnostics.at(0));
  EXPECT_EQ(to_string(*policy_for(*decoded, "y", "inductor")), "close");
  EXPECT_EQ(to_string(*policy_for(*decoded, "y", "inductor.avx2")), "close");
  EXPECT_EQ(to_string(*policy_for(*decoded, "y", "aot_eager")), "bits");
  EXPECT_EQ(to_string(*policy_for(*decoded, "grad x", "inductor")), "ulp(2)");
  EXPECT_FALSE(policy_for(*decoded, "input x", "inductor"));
}

}  // namespace
}  // namespace lockstep
