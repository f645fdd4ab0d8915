#include "program/scalar_operators.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/files.h"
#include "base/json.h"

namespace lockstep {
namespace {

std::string read(const char* name) {
  return *read_file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "runner" / name);
}

/// The data file is what the Python worker's tests compare its own tables with.
TEST(ScalarOperators, AreThoseOfTheDataFile) {
  Json table = Json::array();
  for (const ScalarOperator& each : scalar_operators()) {
    table.push_back({{"name", each.name},
                     {"fewest", each.fewest},
                     {"most", each.most == 0 ? Json() : Json(each.most)},
                     {"python", each.python}});
  }
  EXPECT_EQ(table, Json::parse(read("program/testdata/scalar_operators.json")));
}

TEST(ScalarOperators, AreTheListOfTheProtocol) {
  std::string list;
  for (const ScalarOperator& each : scalar_operators())
    list += (list.empty() ? "`" : " ") + std::string(each.name);
  EXPECT_NE(read("../docs/design/protocol.md").find("Python arithmetic on scalars: " + list + "`"),
            std::string::npos)
      << list;
}

/// Wherever the schema of case files has a list that begins with the first of them.
TEST(ScalarOperators, AreThoseOfTheSchemaOfCases) {
  Json names = Json::array();
  for (const ScalarOperator& each : scalar_operators()) names.push_back(each.name);
  int found = 0;
  const std::function<void(const Json&)> look = [&](const Json& json) {
    if (json.is_array() && json.size() > 3 && json[0] == "add" && json[1] == "sub") {
      EXPECT_EQ(json, names);
      ++found;
    }
    if (!json.is_structured()) return;
    for (const Json& inner : json) look(inner);
  };
  look(Json::parse(read("../cases/schema/case.schema.json")));
  EXPECT_EQ(found, 1);
}

TEST(ScalarOperators, KnowTheirOperands) {
  EXPECT_EQ(find_scalar_operator("exec"), nullptr);
  const ScalarOperator& max = *find_scalar_operator("max");
  EXPECT_FALSE(max.takes(1));
  EXPECT_TRUE(max.takes(2));
  EXPECT_TRUE(max.takes(9));
  EXPECT_EQ(max.arity(), "2 or more");
  const ScalarOperator& mul = *find_scalar_operator("mul");
  EXPECT_FALSE(mul.takes(1));
  EXPECT_TRUE(mul.takes(2));
  EXPECT_FALSE(mul.takes(3));
  EXPECT_EQ(mul.arity(), "2");
}

}  // namespace
}  // namespace lockstep
