#include "workers/eager/scalars.h"

#include <gtest/gtest.h>

#include "program/scalar_operators.h"
#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using c10::IValue;

IValue of(const std::string& name, std::vector<IValue> operands) {
  return scalar_step(name, operands);
}
IValue integer(std::int64_t value) { return value; }

TEST(Scalars, ints_stay_ints_and_division_makes_floats) {
  EXPECT_EQ(of("add", {integer(2), true}).toInt(), 3);
  EXPECT_EQ(of("mul", {integer(2), 0.5}).toDouble(), 1.0);
  EXPECT_EQ(of("div", {integer(1), integer(2)}).toDouble(), 0.5);
  EXPECT_EQ(of("neg", {true}).toInt(), -1);
  EXPECT_EQ(of("pow", {integer(-3), integer(3)}).toInt(), -27);
  EXPECT_EQ(of("pow", {integer(2), integer(-1)}).toDouble(), 0.5);
  EXPECT_EQ(of("sqrt", {integer(9)}).toDouble(), 3.0);
}

TEST(Scalars, division_rounds_as_python_does) {
  EXPECT_EQ(of("floordiv", {integer(-7), integer(2)}).toInt(), -4);
  EXPECT_EQ(of("mod", {integer(-7), integer(2)}).toInt(), 1);
  EXPECT_EQ(of("floordiv", {-7.0, 2.0}).toDouble(), -4.0);
  EXPECT_EQ(of("mod", {-7.0, 2.0}).toDouble(), 1.0);
  EXPECT_EQ(of("floor", {-1.5}).toInt(), -2);
  EXPECT_EQ(of("ceil", {-1.5}).toInt(), -1);
  EXPECT_EQ(of("int", {-1.5}).toInt(), -1);
}

TEST(Scalars, comparison_and_logic) {
  EXPECT_TRUE(of("eq", {integer(1), 1.0}).toBool());
  EXPECT_FALSE(of("eq", {integer((1LL << 53) + 1), 9007199254740992.0}).toBool());
  EXPECT_FALSE(of("le", {std::nan(""), 1.0}).toBool());
  EXPECT_TRUE(of("ne", {std::nan(""), 1.0}).toBool());
  EXPECT_EQ(of("and", {integer(0), 2.5}).toInt(), 0);
  EXPECT_EQ(of("or", {integer(0), 2.5}).toDouble(), 2.5);
  EXPECT_TRUE(of("not", {0.0}).toBool());
  EXPECT_EQ(of("min", {integer(3), integer(1), 2.0}).toInt(), 1);
  EXPECT_EQ(of("max", {integer(3), 3.0}).toInt(), 3);
}

TEST(Scalars, raises_what_python_raises) {
  try {
    of("floordiv", {integer(1), integer(0)});
    FAIL();
  } catch (const PythonError& error) {
    EXPECT_EQ(error.class_name, "ZeroDivisionError");
  }
  EXPECT_THROW(of("sqrt", {-1.0}), PythonError);
  EXPECT_THROW(of("int", {std::nan("")}), PythonError);
}

TEST(Scalars, what_has_no_place_is_unsupported) {
  EXPECT_THROW(of("mul", {integer(INT64_MAX), integer(2)}), Unsupported);
  EXPECT_THROW(of("neg", {integer(INT64_MIN)}), Unsupported);
  EXPECT_THROW(of("pow", {-2.0, 0.5}), Unsupported);
  EXPECT_THROW(of("exec", {integer(1)}), Unsupported);
  EXPECT_THROW(of("add", {IValue(), integer(1)}), Unsupported);
}

TEST(Scalars, every_operator_of_the_table_takes_what_it_says) {
  for (const ScalarOperator& each : scalar_operators()) {
    const std::string name(each.name);
    const std::vector<IValue> few(each.fewest - 1, integer(1));
    EXPECT_THROW(of(name, few), Malformed) << name;
    EXPECT_NO_THROW(of(name, std::vector<IValue>(each.fewest, integer(1)))) << name;
    const std::vector<IValue> more(each.fewest + 1, integer(1));
    if (each.most == 0) {
      EXPECT_NO_THROW(of(name, more)) << name;
    } else {
      EXPECT_THROW(of(name, more), Malformed) << name;
    }
  }
}

}  // namespace
}  // namespace lockstep::eager
