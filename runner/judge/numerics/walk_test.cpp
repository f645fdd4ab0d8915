#include "judge/numerics/walk.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <random>

#include "judge/numerics/fixtures.h"
#include "judge/numerics/statistics.h"

namespace lockstep {
namespace {

using namespace fixtures;

/// Element number at an index of a view.
std::int64_t at(const TensorView& view, const std::vector<std::int64_t>& index) {
  std::int64_t element = view.offset;
  for (std::size_t d = 0; d < index.size(); ++d) element += index[d] * view.strides[d];
  return element;
}

/// Any strided view on 2000 int32 that count up: permuted, with steps, expanded, overlapping,
/// offset.
TensorView random_view(const Tensor& storage, const std::vector<std::int64_t>& shape,
                       std::mt19937& random) {
  TensorView view = storage.view;
  view.shape = shape;
  view.strides.assign(shape.size(), 0);
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t stride = 1;
  for (const std::size_t d : order) {
    if (random() % 5 == 0) continue;  // expanded
    stride *= 1 + static_cast<std::int64_t>(random() % 2);
    view.strides[d] = stride;
    if (random() % 5 != 0) stride *= std::max<std::int64_t>(shape[d], 1);  // or overlapping
  }
  view.offset = static_cast<std::int64_t>(random() % 50);
  return view;
}

TEST(Walk, VisitsEveryIndexOnceWithTheRightElements) {
  std::mt19937 random(3);
  Tensor storage = zeros("int32", {200'000});
  for (int i = 0; i < 200'000; ++i) set_bits(storage, i, static_cast<std::uint64_t>(i));
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> shape(random() % 5);
    for (std::int64_t& size : shape) size = static_cast<std::int64_t>(random() % 8);
    if (round % 10 == 0) shape = {3, 700};  // rows longer than a block
    const TensorView a = random_view(storage, shape, random),
                     b = random_view(storage, shape, random);
    if (!fits_storage(a) || !fits_storage(b)) continue;
    const std::array views = {&a, &b};
    const TensorWalk walk(views);
    EXPECT_EQ(walk.elements() * walk.multiplicity(), a.elements());
    std::map<std::vector<std::int64_t>, int> seen;
    const std::int64_t middle = walk.elements() / 3;  // in two parts, as threads do
    for (const auto& [begin, end] :
         {std::pair<std::int64_t, std::int64_t>{0, middle}, {middle, walk.elements()}}) {
      walk.visit(begin, end, [&](std::int64_t position, std::int64_t count, const auto& blocks) {
        for (std::int64_t i = 0; i < count; ++i) {
          const std::vector<std::int64_t> index = walk.index_of(position + i);
          ++seen[index];
          EXPECT_EQ(load_bits(blocks[0] + 4 * i, 4), static_cast<std::uint64_t>(at(a, index)));
          EXPECT_EQ(load_bits(blocks[1] + 4 * i, 4), static_cast<std::uint64_t>(at(b, index)));
        }
      });
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), walk.elements());
    if (HasFailure()) return;
  }
}

TEST(Walk, ResolvesConjAndNeg) {
  Tensor z = tensor("complex64", {1, 2, 3, -4});
  const auto read = [&](bool conj, bool neg) {
    z.view.conj = conj;
    z.view.neg = neg;
    const std::array views = {static_cast<const TensorView*>(&z.view)};
    std::vector<float> values(4);
    TensorWalk(views).visit(
        0, 2, [&](auto, auto, const auto& blocks) { std::memcpy(values.data(), blocks[0], 16); });
    return values;
  };
  EXPECT_EQ(read(false, false), (std::vector<float>{1, 2, 3, -4}));
  EXPECT_EQ(read(true, false), (std::vector<float>{1, -2, 3, 4}));
  EXPECT_EQ(read(false, true), (std::vector<float>{-1, -2, -3, 4}));
  EXPECT_EQ(read(true, true), (std::vector<float>{-1, 2, -3, -4}));
}

TEST(Walk, HasNoLimitAt32Bits) {
  // 2^31 + 10 elements of a sparse file, twice, one element apart: no disk is used, and one byte
  // differs from its neighbours.
  char name[] = "/tmp/lockstep-sparse-XXXXXX";
  const int fd = ::mkstemp(name);
  ASSERT_GE(fd, 0);
  ::unlink(name);
  const std::int64_t count = (std::int64_t{1} << 31) + 10;
  ASSERT_EQ(::ftruncate(fd, count + 1), 0);
  ASSERT_EQ(::pwrite(fd, "\1", 1, count - 3), 1);
  void* data = ::mmap(nullptr, static_cast<std::size_t>(count + 1), PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(data, MAP_FAILED);
  TensorView e;
  e.dtype = find_dtype("uint8");
  e.shape = {count};
  e.strides = {1};
  e.bytes = {static_cast<const std::byte*>(data), static_cast<std::size_t>(count + 1)};
  TensorView c = e;
  c.offset = 1;
  EXPECT_TRUE(fits_storage(c));
  const std::array views = {&e, &c};
  const TensorWalk walk(views);
  const PairNumbers numbers = compare_pair(walk, *e.dtype, {});
  EXPECT_EQ(numbers.differing, 2);
  EXPECT_EQ(walk.index_of(numbers.first_differing), std::vector<std::int64_t>{count - 4});
  ::munmap(data, static_cast<std::size_t>(count + 1));
  ::close(fd);
}

TEST(TensorWalk, RefusesMoreViewsThanItHasRoomFor) {
  const Tensor one = tensor("int64", {1});
  const std::vector<const TensorView*> views(TensorWalk::kMost + 1, &one.view);
  EXPECT_THROW(TensorWalk{views}, std::logic_error);
}

}  // namespace
}  // namespace lockstep
