#include "run/differing_tensors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <xtensor/xnpy.hpp>

#include "base/files.h"
#include "engine/scratch.h"
#include "judge/fixtures.h"
#include "run/npy.h"

namespace lockstep {
namespace {

using namespace fixtures;

template <class T>
xt::xarray<T> loaded(const TensorView& view) {
  std::istringstream stream(to_npy(view)->bytes);
  return xt::load_npy<T>(stream);
}

TEST(Npy, HoldsViewsInTheOrderOfTheIndex) {
  Tensor x = reshaped(tensor("float32", {1, 2, 3, 4, 5, 6}), {2, 3});
  x.view.strides = {1, 2};
  x.view.neg = true;
  EXPECT_EQ(loaded<float>(x), (xt::xarray<float>{{-1, -3, -5}, {-2, -4, -6}}));
  Tensor z = tensor("complex64", {1, 2});
  z.view.shape = {2, 1};
  z.view.strides = {0, 7};
  z.view.conj = true;
  const auto expected = xt::xarray<std::complex<float>>::from_shape({2, 1});
  EXPECT_TRUE(xt::all(xt::equal(loaded<std::complex<float>>(z), std::complex<float>(1, -2))));
  EXPECT_EQ(loaded<std::complex<float>>(z).shape(), expected.shape());
  EXPECT_EQ(loaded<std::int64_t>(tensor("int64", {})).size(), 0u);
}

TEST(Npy, SaysWhatNumpyCannotHold) {
  EXPECT_EQ(to_npy(tensor("float16", {1.5}))->extension, ".npy");
  EXPECT_NE(to_npy(tensor("float16", {1.5}))->bytes.find("'<f2'"), std::string::npos);
  EXPECT_EQ(to_npy(tensor("bfloat16", {1.5}))->extension, ".bfloat16-bits.npy");
  EXPECT_EQ(loaded<std::uint16_t>(tensor("bfloat16", {1.5}))(0), 0x3fc0);
  EXPECT_EQ(to_npy(zeros("float8_e4m3fn", {2}))->extension, ".float8_e4m3fn-bits.npy");
  EXPECT_EQ(to_npy(zeros("qint8", {2}))->extension, ".qint8-ints.npy");
  EXPECT_EQ(to_npy(zeros("complex32", {2}))->extension, ".complex32-bits.npy");
  Tensor wide = tensor("float32", {1});
  wide.view.shape = {std::int64_t{1} << 40};
  wide.view.strides = {0};
  EXPECT_FALSE(to_npy(wide));
}

TEST(Keep, WritesWhatDoesNotConformAndNothingElse) {
  const Scratch scratch = std::move(*Scratch::create());
  const CallResult good{{{"y", tensor("float32", {1, 2})}, {"z", tensor("int8", {7})}}, {}, {}};
  const CallResult bad{{{"y", tensor("float32", {1, 3})}, {"z", tensor("int8", {7})}}, {}, {}};
  const Observation eager = returned({good, good});
  const Observation compiled = returned({good, bad});
  const Observation gold = returned({good, good}, 1);
  JudgeRequest request;
  request.eager = &eager;
  request.compiled = &compiled;
  request.golds[Gold::fp64] = &gold;
  Findings found = judge(request);
  ASSERT_TRUE(save_tensors(scratch.path(), "bugs/1[n=2]@cpu/p", request, found));
  using Files = std::vector<std::string>;
  const std::string folder = "tensors/bugs/1[n=2]@cpu/p/y-call-2.";
  for (const OutputComparison& output : found.outputs) {
    EXPECT_EQ(output.tensors,
              output.name != "y, call 2"
                  ? Files{}
                  : (Files{folder + "eager.npy", folder + "compiled.npy", folder + "fp64.npy"}))
        << output.name;
  }
  const auto file = read_file(scratch.path() / (folder + "compiled.npy"));
  ASSERT_TRUE(file);
  EXPECT_EQ(*file, to_npy(tensor("float32", {1, 3}))->bytes);
  ASSERT_TRUE(save_tensors(scratch.path(), "bugs/1[n=2]@cpu/p", request, found));  // again
}

// For test_save_tensors.py, which reads them with numpy: every dtype, a strided view of six
// elements that count up.
TEST(Npy, WritesFilesForNumpy) {
  const char* folder = std::getenv("LOCKSTEP_NPY_DIR");
  if (folder == nullptr) GTEST_SKIP() << "LOCKSTEP_NPY_DIR names no directory";
  for (const Dtype& dtype : all_dtypes()) {
    Tensor made = zeros(dtype.name, {6});
    const int parts = dtype.is_complex() ? 2 : 1;
    for (int i = 0; i < 6 * parts; ++i) {
      const Dtype& number = number_dtype(dtype);
      set_bits(made, i, dtype.name == "bool" ? i % 2 : encode(number, i));
    }
    made.view.shape = {3, 2};
    made.view.strides = {1, 3};
    const auto npy = to_npy(made);
    ASSERT_TRUE(npy);
    ASSERT_TRUE(write_file(
        std::filesystem::path(folder) / (std::string(dtype.name) + npy->extension), npy->bytes));
  }
}

}  // namespace
}  // namespace lockstep
