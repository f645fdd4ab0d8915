#include "workers/eager/values.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

using nlohmann::json;

Scope names() {
  Scope scope;
  scope["t"] = at::ones({2});
  scope["zero_dim"] = at::scalar_tensor(3, at::kLong);
  scope["i"] = std::int64_t{5};
  scope["f"] = 0.5;
  return scope;
}

c10::IValue argument(const char* text, const c10::TypePtr& type, std::optional<int> length = {}) {
  return to_argument(parse_value(json::parse(text)), type, length, names());
}

c10::TypePtr optional(const c10::TypePtr& type) { return c10::OptionalType::create(type); }
c10::TypePtr list(const c10::TypePtr& type) { return c10::ListType::create(type); }

TEST(Values, tensors_and_wrapped_numbers) {
  EXPECT_TRUE(argument(R"({"ref": "t"})", c10::TensorType::get()).isTensor());
  const at::Tensor number = argument("2", c10::TensorType::get()).toTensor();
  EXPECT_TRUE(number.unsafeGetTensorImpl()->is_wrapped_number());
  EXPECT_EQ(number.scalar_type(), at::kLong);
  EXPECT_EQ(argument(R"({"float": "0x1p-1"})", c10::TensorType::get()).toTensor().scalar_type(),
            at::kDouble);
  EXPECT_EQ(argument("true", c10::TensorType::get()).toTensor().scalar_type(), at::kBool);
  EXPECT_FALSE(argument("null", c10::TensorType::get()).toTensor().defined());
  EXPECT_TRUE(argument("null", optional(c10::TensorType::get())).isNone());
}

TEST(Values, numbers) {
  EXPECT_EQ(argument("3", c10::IntType::get()).toInt(), 3);
  EXPECT_EQ(argument("3", c10::SymIntType::get()).toInt(), 3);
  EXPECT_EQ(argument(R"({"ref": "i"})", c10::IntType::get()).toInt(), 5);
  EXPECT_EQ(argument(R"({"ref": "zero_dim"})", c10::IntType::get()).toInt(), 3);
  EXPECT_EQ(argument("3", c10::FloatType::get()).toDouble(), 3.0);
  EXPECT_EQ(argument(R"({"ref": "f"})", c10::FloatType::get()).toDouble(), 0.5);
  EXPECT_TRUE(argument("true", c10::BoolType::get()).toBool());
  EXPECT_TRUE(argument("3", c10::NumberType::get()).isInt());
  EXPECT_TRUE(argument("true", c10::NumberType::get()).isBool());
  EXPECT_TRUE(argument(R"({"float": "nan"})", c10::NumberType::get()).isDouble());
  EXPECT_EQ(
      argument(R"({"complex": ["0x1p+0", "-0x1p+1"]})", c10::NumberType::get()).toComplexDouble(),
      c10::complex<double>(1, -2));
}

TEST(Values, enumerations_are_ints_on_the_stack) {
  EXPECT_EQ(argument(R"({"dtype": "float8_e4m3fn"})", c10::ScalarTypeType::get()).toInt(),
            static_cast<std::int64_t>(at::kFloat8_e4m3fn));
  EXPECT_EQ(argument(R"({"layout": "strided"})", optional(c10::LayoutType::get())).toInt(), 0);
  EXPECT_EQ(
      argument(R"({"memory_format": "channels_last"})", optional(c10::MemoryFormatType::get()))
          .toInt(),
      static_cast<std::int64_t>(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(argument(R"({"device": "cuda:1"})", c10::DeviceObjType::get()).toDevice().index(), 1);
  EXPECT_EQ(argument(R"({"str": "mean"})", c10::StringType::get()).toStringRef(), "mean");
  EXPECT_THROW(argument("3", c10::ScalarTypeType::get()), c10::TypeError);
  EXPECT_THROW(argument(R"({"dtype": "float32"})", c10::IntType::get()), c10::TypeError);
  EXPECT_THROW(argument(R"({"dtype": "float3"})", c10::ScalarTypeType::get()), Unsupported);
}

TEST(Values, lists) {
  EXPECT_EQ(argument("[1, 2]", list(c10::IntType::get())).toIntVector(),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(argument("[]", list(c10::SymIntType::get())).toIntVector().size(), 0U);
  EXPECT_EQ(argument("7", list(c10::IntType::get()), 2).toIntVector(),
            (std::vector<std::int64_t>{7, 7}));
  EXPECT_THROW(argument("7", list(c10::IntType::get())), c10::TypeError);
  EXPECT_EQ(argument(R"([{"ref": "t"}])", list(c10::TensorType::get())).toTensorVector().size(),
            1U);
  const auto holes = argument(R"([null, {"ref": "t"}])", list(optional(c10::TensorType::get())));
  EXPECT_TRUE(holes.toListRef()[0].isNone());
  EXPECT_EQ(argument(R"([1, {"float": "0x1p+0"}])", list(c10::FloatType::get())).toDoubleVector(),
            (std::vector<double>{1, 1}));
}

TEST(Values, what_does_not_fit_is_a_type_error_and_what_none_can_pass_is_unsupported) {
  EXPECT_THROW(argument("true", c10::IntType::get()), c10::TypeError);
  EXPECT_THROW(argument("null", c10::IntType::get()), c10::TypeError);
  EXPECT_THROW(argument(R"({"str": "x"})", c10::TensorType::get()), c10::TypeError);
  EXPECT_THROW(argument("3", c10::StorageType::get()), Unsupported);
  EXPECT_THROW(argument("3", optional(c10::GeneratorType::get())), Unsupported);
  EXPECT_TRUE(argument("null", optional(c10::GeneratorType::get())).isNone());
  EXPECT_THROW(argument(R"({"ref": "nobody"})", c10::TensorType::get()), Malformed);
  EXPECT_THROW(argument(R"({"what": "x"})", c10::TensorType::get()), Malformed);
}

TEST(Values, scalars_are_written_as_they_are_read) {
  for (const char* text : {"null", "true", "-3", R"({"float":"0x1.8p+1"})",
                           R"({"complex":["0x1p+0","-0x0p+0"]})", R"({"str":"mean"})"}) {
    EXPECT_EQ(to_json(to_ivalue(parse_value(json::parse(text)), {}))->dump(), text);
  }
  EXPECT_FALSE(to_json(at::ones({1})).has_value());
}

}  // namespace
}  // namespace lockstep::eager
