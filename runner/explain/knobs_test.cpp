#include "explain/knobs.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "engine/scratch.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Knobs : public testing::Test {
 protected:
  KnobTable read(const std::string& text) {
    const auto file = scratch_.path() / "knobs.json";
    EXPECT_TRUE(write_file(file, text));
    diagnostics_.clear();
    return read_knobs(file, diagnostics_);
  }

  static Path inductor() {
    Path path;
    path.declared = {{"backend", "inductor"},
                     {"config", {{"torch._inductor.config.freezing", true}}}};
    return path;
  }

  Scratch scratch_ = std::move(*Scratch::create());
  Diagnostics diagnostics_;
};

TEST_F(Knobs, OfLockstepAreRight) {
  const KnobTable table = read_knobs(
      std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "runner/explain/knobs.json", diagnostics_);
  for (const Diagnostic& each : diagnostics_) ADD_FAILURE() << to_string(each);
  EXPECT_GT(table.knobs.size(), 20U);
  EXPECT_EQ(table.bisected.size(), 2U);
}

TEST_F(Knobs, ThatAreWrongAreSaidToBe) {
  const auto message = [&](const std::string& text) {
    read(text);
    return diagnostics_.empty() ? "" : diagnostics_.front().message;
  };
  EXPECT_THAT(message(R"({"format": 1, "knobs": [{"name": "a", "title": "t"}]})"),
              HasSubstr("changes nothing"));
  EXPECT_THAT(
      message(R"({"format": 1, "knobs": [{"name": "A b", "title": "t", "dynamic": true}]})"),
      HasSubstr("a name of lower-case letters"));
  EXPECT_THAT(message(R"({"format": 1, "knobs": [{"name": "a", "title": "t", "dynamic": true},
                                                 {"name": "a", "title": "t", "dynamic": true}]})"),
              HasSubstr("for the second time"));
  EXPECT_THAT(message(R"({"format": 1, "knobs": [{"name": "a", "title": "t", "dynamic": true,
                                                  "torch": "new"}]})"),
              HasSubstr("a range of releases"));
  EXPECT_THAT(message(R"({"format": 1, "knobs": [], "bisect": {"../up": ["a"]}})"),
              HasSubstr("a backend that torch's bisector knows"));
  EXPECT_THAT(message(R"({"format": 1, "knobs": [], "bisect": {"inductor": ["../up"]}})"),
              HasSubstr("names of torch's subsystems"));
}

TEST_F(Knobs, SayWhyTheyHaveNothingToSay) {
  Knob knob;
  knob.backends = {"inductor"};
  knob.config = {{"torch._inductor.config.freezing", true}};
  Path other = inductor();
  other.declared["backend"] = "aot_eager";
  EXPECT_THAT(why_not(knob, other, "2.13.0", {}), HasSubstr("one of inductor alone"));
  EXPECT_THAT(why_not(knob, inductor(), "2.13.0", {}), HasSubstr("has it already"));
  knob.config = {{"torch._inductor.config.fallback_random", true}};
  EXPECT_THAT(why_not(knob, inductor(), "2.13.0", {}), HasSubstr("has it already"))
      << "the worker sets it";
  knob.config = {{"torch._inductor.config.pattern_matcher", false}};
  EXPECT_THAT(why_not(knob, inductor(), "2.13.0", {}), IsEmpty());
  knob.torch = ">=2.14";
  EXPECT_THAT(why_not(knob, inductor(), "2.13.0+cpu", {}), HasSubstr("needs torch >=2.14"));
  Knob falls;
  falls.backends = {"inductor"};
  falls.fall_back = true;
  EXPECT_THAT(why_not(falls, inductor(), "2.13.0", {}), HasSubstr("no operator is accused"));
  EXPECT_THAT(why_not(falls, inductor(), "2.13.0", {"aten::exp.default"}), IsEmpty());
}

TEST_F(Knobs, ChangeThePathAndNotItsName) {
  Knob knob;
  knob.config = {{"torch._inductor.config.pattern_matcher", false}};
  knob.dynamic = true;
  knob.fall_back = true;
  const Path changed = with_knob(inductor(), knob, {"aten::exp.default"});
  EXPECT_EQ(changed.declared["config"].size(), 2U);
  EXPECT_EQ(changed.declared["dynamic"], true);
  EXPECT_EQ(changed.dynamic, true);
  EXPECT_EQ(changed.declared["fall_back"], Json({"aten::exp.default"}));
  EXPECT_EQ(changed.name, inductor().name);
}

}  // namespace
}  // namespace lockstep
