#include "paths/path.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fixtures.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A path that compiles, with more keys.
Path path_of(const std::string& name, const std::string& keys) {
  const std::string text = fmt::format(
      R"({{"format": 1, "name": "{}", "title": "t", "promise": "bits", "worker": "compiled", {}}})",
      name, keys);
  Diagnostics diagnostics;
  auto path = decode_path({name + ".json", text, Json::parse(text)}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << to_string(diagnostic);
  return *path;
}

std::vector<std::string> faults(const std::vector<Path>& paths) {
  Diagnostics diagnostics;
  check_ladder(paths, diagnostics);
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics) texts.push_back(to_string(diagnostic));
  return texts;
}

TEST(Paths, StandOnTheRungThatTheyName) {
  EXPECT_EQ(path_of("mine", R"("backend": "mine", "above": "aot_eager")").above, "aot_eager");
  EXPECT_EQ(path_of("mine", R"("backend": "mine", "above": null)").above, "");
  // What any backend of Dynamo gets, `eager` executes.
  EXPECT_EQ(path_of("mine", R"("backend": "mine")").above, "eager");
  EXPECT_EQ(path_of("mine", R"("backend": "mine")").declared["above"], "eager");
  EXPECT_EQ(path_of("torchs", R"("backend": "inductor")").above, "");
  EXPECT_EQ(path_of("plain", R"("backend": null)").above, "");
}

TEST(Paths, ALadderHasNoMisspeltRungsAndNoCircles) {
  const Path low = path_of("low", R"("backend": null)");
  EXPECT_THAT(faults({low, path_of("high", R"("backend": "inductor", "above": "low")")}),
              IsEmpty());
  EXPECT_THAT(faults({low, path_of("high", R"("backend": "inductor", "above": "lwo")")}),
              ElementsAre(AllOf(HasSubstr("found `lwo`, expected the name of a path"),
                                HasSubstr("did you mean `low`?"))));
  EXPECT_THAT(faults({path_of("a", R"("backend": "inductor", "above": "b")"),
                      path_of("b", R"("backend": "inductor", "above": "a")")}),
              ElementsAre(HasSubstr("found `b`, which leads back to this path"),
                          HasSubstr("found `a`, which leads back to this path")));
  // A suite of one's own may do without a rung.
  EXPECT_THAT(
      faults({path_of("inductor", R"("backend": "inductor", "above": "aot_eager_decomp")")}),
      IsEmpty());
  EXPECT_THAT(faults({path_of("mine", R"("backend": "mine")")}), IsEmpty());
}

}  // namespace
}  // namespace lockstep
