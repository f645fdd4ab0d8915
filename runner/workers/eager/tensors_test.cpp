#include "workers/eager/tensors.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/alignment.h>

#include "workers/eager/errors.h"
#include "workers/eager/testing.h"

namespace lockstep::eager {
namespace {

TEST(Tensors, strides_offset_and_overlap_come_back_as_they_were) {
  Request request;
  const int storage = request.storage<float>({0, 1, 2, 3, 4, 5});
  request.input("overlapping", view(storage, "float32", {3, 2}, {1, 1}, 1))
      .input("expanded", view(storage, "float32", {4, 2}, {0, 1}, 2))
      .outputs({"overlapping"});
  request.run();
  const auto& inputs = request.call()["inputs"];
  EXPECT_EQ(inputs["overlapping"]["strides"], (std::vector<int>{1, 1}));
  EXPECT_EQ(inputs["overlapping"]["offset"], 1);
  EXPECT_EQ(inputs["expanded"]["shape"], (std::vector<int>{4, 2}));
  EXPECT_EQ(inputs["expanded"]["storage"], inputs["overlapping"]["storage"]);
  EXPECT_EQ(request.call()["outputs"]["overlapping"]["is"], "overlapping");
  EXPECT_EQ(request.values<float>(inputs["expanded"]), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Tensors, a_write_is_seen_through_an_alias_and_inputs_are_fresh_each_time) {
  Request request;
  const int storage = request.storage<float>({1, 2, 3, 4});
  request.input("x", view(storage, "float32", {4}, {1}))
      .input("odd", view(storage, "float32", {2}, {2}, 1))
      .step(R"({"let": [], "op": "aten::mul_.Scalar", "args": [{"ref": "odd"}, 10]})")
      .step(R"({"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}]})")
      .outputs({"y"});
  request["repeat"] = 2;
  request.run();
  for (const int run : {0, 1}) {
    const auto& call = request.call(run);
    EXPECT_EQ(request.values<float>(call["outputs"]["y"]), (std::vector<float>{1, 20, 3, 40}));
    EXPECT_EQ(request.values<float>(call["inputs"]["x"]), (std::vector<float>{1, 20, 3, 40}));
    EXPECT_NE(call["outputs"]["y"]["storage"], call["inputs"]["x"]["storage"]);
  }
}

TEST(Tensors, every_storage_begins_where_memory_of_torch_does) {
  Request request;
  for (const int bytes : {1, 3, 64, 65, 4097})
    request.storage(std::vector<char>(static_cast<std::size_t>(bytes)));
  const std::vector<StorageFile> files = parse_storages(request["storages"]);
  for (const Width width : {Width::as_given, Width::widest}) {
    TensorSource source(files, c10::kCPU, width);
    for (int i = 0; i < 5; ++i) {
      const at::Tensor x = source.build(view(i, "int8", {1}, {1}));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.storage().data()) % c10::gAlignment, 0u) << i;
    }
  }
  // That is no chance: what does not begin there is refused, and nothing is said of the program.
  const at::Tensor whole = at::arange(100, at::kByte);
  EXPECT_NO_THROW(check_aligned(whole.storage(), 2));
  const at::Tensor inner =
      at::from_blob(whole.mutable_data_ptr<std::uint8_t>() + 8, {4}, at::kByte);
  EXPECT_THROW(check_aligned(inner.storage(), 2), Fault);
}

TEST(Tensors, conj_and_neg_bits_are_kept) {
  Request request;
  const int storage = request.storage<float>({1, 2});
  nlohmann::json conj = view(storage, "complex64", {1}, {1});
  conj["conj"] = true;
  request.input("x", conj)
      .step(R"({"let": ["y"], "op": "aten::imag.default", "args": [{"ref": "x"}]})")
      .step(R"({"let": ["z"], "op": "aten::resolve_neg.default", "args": [{"ref": "y"}]})")
      .outputs({"y", "z"});
  request.run();
  EXPECT_EQ(request.call()["inputs"]["x"]["conj"], true);
  EXPECT_EQ(request.call()["outputs"]["y"]["neg"], true);
  EXPECT_EQ(request.call()["outputs"]["z"]["neg"], false);
  EXPECT_EQ(request.values<float>(request.call()["outputs"]["z"]), (std::vector<float>{-2}));
}

TEST(Tensors, a_zero_tensor_has_no_memory_and_reads_as_zeros) {
  for (const char* mode : {"plain", "fp64"}) {
    Request request;
    // Were it built from its storage, the ones would show.
    nlohmann::json zero = view(request.storage<float>({1, 1}), "float32", {2}, {1});
    zero["zero_tensor"] = true;
    request.input("z", zero)
        .input("x", view(request.storage<float>({3, 4}), "float32", {2}, {1}))
        .step(R"({"let": ["y"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, {"ref": "z"}]})")
        .step(R"({"let": ["r"], "op": "aten::_efficientzerotensor.default", "args": [[2]]})")
        .outputs({"y", "r"});
    request["mode"] = mode;
    request.run();
    const auto& call = request.call();
    const bool wide = std::string(mode) == "fp64";
    const auto read = [&](const auto& tensor) {
      if (wide) return request.values<double>(tensor);
      const auto values = request.values<float>(tensor);
      return std::vector<double>(values.begin(), values.end());
    };
    EXPECT_EQ(read(call["outputs"]["y"]), (std::vector<double>{3, 4})) << mode;
    EXPECT_EQ(read(call["inputs"]["z"]), (std::vector<double>{0, 0})) << mode;
    EXPECT_EQ(call["inputs"]["z"]["dtype"], wide ? "float64" : "float32");
    // The fp64 gold widens what the operator makes by default, too.
    EXPECT_EQ(read(call["outputs"]["r"]), (std::vector<double>{0, 0})) << mode;
  }
}

TEST(Tensors, every_plain_dtype_round_trips) {
  for (const char* dtype : {"uint8",           "int8",
                            "int16",           "int32",
                            "int64",           "uint16",
                            "uint32",          "uint64",
                            "float16",         "bfloat16",
                            "float32",         "float64",
                            "complex32",       "complex64",
                            "complex128",      "bool",
                            "float8_e4m3fn",   "float8_e5m2",
                            "float8_e4m3fnuz", "float8_e5m2fnuz",
                            "float8_e8m0fnu",  "float4_e2m1fn_x2",
                            "bits8",           "uint4"}) {
    Request request;
    const std::vector<std::uint8_t> bytes(16, 1);
    request.input("x", view(request.storage(bytes), dtype, {1}, {1})).outputs({"x"});
    request.run();
    EXPECT_EQ(request.call()["outputs"]["x"]["dtype"], dtype);
    EXPECT_EQ(request.values<std::uint8_t>(request.call()["outputs"]["x"]), bytes) << dtype;
  }
}

TEST(Tensors, quantized_tensors_keep_their_scale) {
  for (const bool per_channel : {false, true}) {
    Request request;
    nlohmann::json x = view(request.storage<std::uint8_t>({1, 2, 3, 4}), "quint8", {2, 2}, {2, 1});
    const nlohmann::json half = {{"float", "0x1p-1"}};
    if (per_channel) {
      x["quantizer"] = {{"scheme", "per_channel_affine"},
                        {"scales", {half, half}},
                        {"zero_points", {1, 2}},
                        {"axis", 1}};
    } else {
      x["quantizer"] = {{"scheme", "per_tensor_affine"}, {"scales", {half}}, {"zero_points", {1}}};
    }
    request.input("x", x)
        .step(R"({"let": ["y"], "op": "aten::dequantize.self", "args": [{"ref": "x"}]})")
        .outputs({"x", "y"});
    const auto& observation = request.run();
    ASSERT_EQ(observation["outcome"], "returned") << observation;
    EXPECT_EQ(nlohmann::json(request.call()["outputs"]["x"]["quantizer"]), x["quantizer"]);
    EXPECT_EQ(request.values<float>(request.call()["outputs"]["y"]),
              per_channel ? (std::vector<float>{0, 0, 1, 1}) : (std::vector<float>{0, .5, 1, 1.5}));
  }
}

TEST(Tensors, a_view_that_leaves_its_storage_is_malformed) {
  const std::vector<nlohmann::json> wrong = {
      view(0, "float32", {5}, {1}),     view(0, "float32", {2}, {4}),
      view(0, "float32", {2}, {1}, 3),  view(0, "float64", {3}, {1}),
      view(0, "float32", {2}, {-1}, 3), view(0, "float32", {-1}, {1}),
      view(0, "float32", {2, 2}, {1}),  view(0, "float32", {2}, {INT64_MAX}),
      view(1, "float32", {1}, {1})};
  for (const auto& bad : wrong) {
    Request request;
    request.storage<float>({1, 2, 3, 4});
    request.input("x", bad);
    EXPECT_THROW(request.run(), Malformed) << bad;
  }
  Request empty;
  empty.storage<float>({});
  empty.input("x", view(0, "float32", {0, 3}, {3, 1})).outputs({"x"});
  EXPECT_EQ(empty.run()["outcome"], "returned");
}

TEST(Tensors, what_cannot_be_built_is_unsupported) {
  Request dtype;
  dtype.input("x", view(dtype.storage<float>({1}), "float3", {1}, {1}));
  EXPECT_EQ(dtype.run()["reason"], "dtype float3");
  Request layout;
  layout.input("x", view(layout.storage<float>({1}), "float32", {1}, {1}));
  layout["calls"][0]["inputs"]["x"]["layout"] = "sparse_coo";
  EXPECT_EQ(layout.run()["reason"], "layout sparse_coo");
  Request device;
  device["device"] = "hpu";
  EXPECT_EQ(device.run()["outcome"], "unsupported");
}

TEST(Tensors, a_sparse_result_is_unsupported) {
  Request request;
  request.input("x", view(request.storage<float>({1, 0}), "float32", {2}, {1}))
      .step(R"({"let": ["y"], "op": "aten::to_sparse.default", "args": [{"ref": "x"}]})")
      .outputs({"y"});
  EXPECT_EQ(request.run()["reason"], "layout sparse_coo");
}

}  // namespace
}  // namespace lockstep::eager
