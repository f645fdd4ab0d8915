#include "workers/eager/schemas.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "workers/eager/environment.h"
#include "workers/eager/operators.h"

namespace lockstep::eager {
namespace {

const nlohmann::ordered_json& dump() {
  static const nlohmann::ordered_json document = schemas();
  return document;
}

nlohmann::ordered_json overload(const std::string& op, const std::string& name) {
  for (const auto& candidate : dump()["operators"].at(op)) {
    if (candidate["overload"] == name) return candidate;
  }
  return {};
}

TEST(Schemas, name_types_defaults_and_aliases) {
  const auto add = overload("aten::add_", "Tensor");
  EXPECT_EQ(add["arguments"][0]["mutates"], true);
  EXPECT_EQ(add["arguments"][2]["default"], 1);
  EXPECT_EQ(add["arguments"][2]["kwarg_only"], true);
  EXPECT_EQ(add["returns"][0]["alias_of"], "self");

  const auto conv = overload("aten::conv2d", "default");
  EXPECT_EQ(conv["arguments"][3]["type"], "int[]");
  EXPECT_EQ(conv["arguments"][3]["list_size"], 2);
  EXPECT_EQ(conv["arguments"][3]["default"], (std::vector<int>{1, 1}));

  EXPECT_EQ(overload("aten::to", "dtype")["arguments"][1]["type"], "ScalarType");
  EXPECT_EQ(overload("aten::split", "Tensor")["returns"][0]["alias_of"], "self");
  EXPECT_EQ(overload("aten::dropout", "default")["tags"].dump().find("pointwise"),
            std::string::npos);
  EXPECT_NE(overload("aten::rand", "default")["tags"].dump().find("nondeterministic_seeded"),
            std::string::npos);
}

TEST(Schemas, are_the_same_each_time_and_say_whose_they_are) {
  EXPECT_EQ(dump().dump(), schemas().dump());
  EXPECT_EQ(dump()["operators_digest"], environment()["operators_digest"]);
  EXPECT_GT(dump()["operators"].size(), 1000U);
  EXPECT_TRUE(
      std::is_sorted(dump()["operators"].get_ref<const nlohmann::ordered_json::object_t&>().begin(),
                     dump()["operators"].get_ref<const nlohmann::ordered_json::object_t&>().end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; }));
}

TEST(Schemas, name_the_kinds_of_devices_that_can_execute) {
  const auto devices = dump()["devices"].get<std::vector<std::string>>();
  EXPECT_NE(std::find(devices.begin(), devices.end(), "cpu"), devices.end());
  EXPECT_EQ(std::find(devices.begin(), devices.end(), "privateuseone"), devices.end());
}

TEST(Operators, nothing_that_opens_files_or_takes_storages_or_streams_can_be_called) {
  const auto refused = [](const char* name, const char* overload_name) {
    const auto op = c10::Dispatcher::singleton().findSchema({name, overload_name});
    return op && refusal(op->schema()).has_value();
  };
  EXPECT_TRUE(refused("aten::from_file", ""));
  EXPECT_TRUE(refused("aten::from_file", "out"));
  EXPECT_TRUE(refused("aten::set_", "source_Storage"));
  EXPECT_TRUE(refused("aten::record_stream", ""));
  EXPECT_FALSE(refused("aten::add", "Tensor"));
  EXPECT_FALSE(refused("aten::rand", "generator"));
}

}  // namespace
}  // namespace lockstep::eager
