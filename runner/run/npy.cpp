#include "run/npy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <xtensor/xadapt.hpp>
#include <xtensor/xnpy.hpp>

#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

/// The elements side by side in the order of the index.
std::vector<std::byte> gathered(const TensorView& view) {
  const std::int64_t bytes = view.dtype->bytes;
  std::vector<std::byte> all(static_cast<std::size_t>(view.elements() * bytes));
  const std::array views = {&view};
  const TensorWalk walk(views, TensorWalk::Order::index);
  walk.visit(0, walk.elements(), [&](std::int64_t at, std::int64_t count, const auto& blocks) {
    std::memcpy(all.data() + at * bytes, blocks[0], static_cast<std::size_t>(count * bytes));
  });
  return all;
}

template <class T>
std::string dump(const std::vector<std::byte>& bytes, const std::vector<std::size_t>& shape) {
  return xt::dump_npy(xt::adapt(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T),
                                xt::no_ownership(), shape));
}

std::string dump_integers(const Dtype& dtype, const std::vector<std::byte>& bytes,
                          const std::vector<std::size_t>& shape) {
  const bool is_signed = dtype.kind == NumberKind::signed_integer;
  switch (dtype.bytes) {
    case 1:
      return is_signed ? dump<std::int8_t>(bytes, shape) : dump<std::uint8_t>(bytes, shape);
    case 2:
      return is_signed ? dump<std::int16_t>(bytes, shape) : dump<std::uint16_t>(bytes, shape);
    case 4:
      return is_signed ? dump<std::int32_t>(bytes, shape) : dump<std::uint32_t>(bytes, shape);
    default:
      return is_signed ? dump<std::int64_t>(bytes, shape) : dump<std::uint64_t>(bytes, shape);
  }
}

/// C++20 has no such type, but numpy has: the header of its bits, with another kind.
std::string dump_float16(const std::vector<std::byte>& bytes,
                         const std::vector<std::size_t>& shape) {
  std::string file = dump<std::uint16_t>(bytes, shape);
  file[file.find("<u2") + 1] = 'f';
  return file;
}

}  // namespace

Result<NpyFile> to_npy(const TensorView& view) {
  const Dtype& dtype = *view.dtype;
  if (view.elements() > kMostBytes / dtype.bytes) {
    return fail(fmt::format("{} has more than 1 GiB", describe(view)));
  }
  const std::vector<std::byte> bytes = gathered(view);
  const std::vector<std::size_t> shape(view.shape.begin(), view.shape.end());
  if (dtype.name == "float16") return NpyFile{".npy", dump_float16(bytes, shape)};
  if (dtype.name == "float32") return NpyFile{".npy", dump<float>(bytes, shape)};
  if (dtype.name == "float64") return NpyFile{".npy", dump<double>(bytes, shape)};
  if (dtype.name == "complex64") return NpyFile{".npy", dump<std::complex<float>>(bytes, shape)};
  if (dtype.name == "complex128") return NpyFile{".npy", dump<std::complex<double>>(bytes, shape)};
  if (dtype.name == "bool") return NpyFile{".npy", dump<bool>(bytes, shape)};
  if (dtype.is_integer()) return NpyFile{".npy", dump_integers(dtype, bytes, shape)};
  if (dtype.kind == NumberKind::quantized) {
    return NpyFile{fmt::format(".{}-ints.npy", dtype.name),
                   dump_integers(number_dtype(dtype), bytes, shape)};
  }
  const std::string extension = fmt::format(".{}-bits.npy", dtype.name);
  if (dtype.is_complex()) return NpyFile{extension, dump<std::uint32_t>(bytes, shape)};
  return NpyFile{extension, dump_integers(dtype, bytes, shape)};
}

}  // namespace lockstep
