#include "wire/held.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/block_digest.h"
#include "base/fuzzing.h"
#include "wire/observation.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A directory of a worker, what the runner has of a storage of two blocks and 80 bytes, and
/// observations that are like it.
class Known : public testing::Test {
 public:
  ~Known() override { fs::remove_all(folder_); }

 protected:
  Known() {
    char name[] = "/tmp/lockstep-known-XXXXXX";
    folder_ = ::mkdtemp(name);
    fuzz::Random random(1);
    for (char& byte : bytes_) byte = static_cast<char>(random.next());
    write("held", bytes_);
    file_ = *FileCopy::open(folder_ / "held");
    add_held(held_, {file_});
  }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  /// An observation whose last storage is shown whole, as bytes.
  Result<Observation> read(const std::string& storages, std::size_t last = 0) const {
    return parse_observation(
        fmt::format(R"({{"outcome": "returned", "runs": [{{"calls": [{{"outputs": {{"y":
            {{"storage": {}, "dtype": "uint8", "shape": [{}], "strides": [1]}}}}, "inputs": {{}}, "grads": {{}}}}]}}],
            "storages": [{}]}})",
                    last, bytes_.size(), storages),
        folder_, held_);
  }
  std::string seen(const std::string& storages, std::size_t last = 0) const {
    const auto observation = read(storages, last);
    if (!observation) return observation.error().message;
    const auto& view =
        std::get<TensorView>(observation->repetitions.at(0).at(0).outputs.at(0).second);
    return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
  }

  std::string bytes_ = std::string(2 * kDigestBlock + 80, 0);
  fs::path folder_;
  std::shared_ptr<const FileCopy> file_;
  HeldStorages held_;
};

constexpr const char* kBytes = "131152";

TEST_F(Known, WhatIsTheSameIsTaken) {
  EXPECT_EQ(seen(fmt::format(R"({{"bytes": {}, "same": {{"held": 0}}, "blocks": []}})", kBytes)),
            bytes_);
  const auto observation =
      read(fmt::format(R"({{"bytes": {}, "same": {{"held": 0}}, "blocks": []}})", kBytes));
  EXPECT_EQ(observation->storages.at(0), file_) << "nothing is copied";
}

TEST_F(Known, BlocksThatDifferAreTakenFromTheFile) {
  std::string other = bytes_;
  std::fill(other.begin() + kDigestBlock, other.begin() + 2 * kDigestBlock, 'b');
  std::fill(other.begin() + 2 * kDigestBlock, other.end(), 'c');
  write("0", other.substr(kDigestBlock));
  const std::string storage = fmt::format(
      R"({{"file": "0", "bytes": {}, "same": {{"held": 0}}, "blocks": [1, 2]}})", kBytes);
  EXPECT_EQ(seen(storage), other);
  // Another one is like that one.
  write("1", other.substr(2 * kDigestBlock));
  EXPECT_EQ(
      seen(storage +
               fmt::format(
                   R"(, {{"file": "1", "bytes": {}, "same": {{"storage": 0}}, "blocks": [2]}})",
                   kBytes),
           1),
      other);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file_->bytes().data()), bytes_.size()),
            bytes_)
      << "what is held stays as it is";
}

TEST_F(Known, WhatAWorkerMakesUpIsItsFault) {
  write("0", std::string(80, 'x'));
  write("long", std::string(81, 'x'));
  const std::pair<const char*, const char*> lies[] = {
      {R"({"bytes": 131152, "same": {"held": 1}, "blocks": []})", "1 of 1 that there are"},
      {R"({"bytes": 131152, "same": {"held": -1}, "blocks": []})", "not negative"},
      {R"({"bytes": 131152, "same": {"storage": 0}, "blocks": []})", "0 of 0 that there are"},
      {R"({"bytes": 131152, "same": {"storage": 3}, "blocks": []})", "3 of 0 that there are"},
      {R"({"bytes": 131152, "same": {}, "blocks": []})", "either `held` or `storage`"},
      {R"({"bytes": 131152, "same": {"held": 0, "storage": 0}, "blocks": []})", "either"},
      {R"({"bytes": 131152, "same": 0, "blocks": []})", "/storages/0/same"},
      {R"({"bytes": 131152, "same": {"held": 0}})", "blocks"},
      {R"({"bytes": 131151, "same": {"held": 0}, "blocks": []})", "cannot be the same as 131152"},
      {R"({"bytes": 131153, "same": {"held": 0}, "blocks": []})", "cannot be the same as 131152"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [3]})", "one of 3 blocks"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [2, 2]})", "each after"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [2, 1]})", "each after"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [-1]})", "not negative"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [1e3]})", "integer"},
      {R"({"bytes": 131152, "same": {"held": 0}, "blocks": [2]})", "file"},
      {R"({"bytes": 131152, "file": "../0", "same": {"held": 0}, "blocks": [2]})",
       "plain file name"},
      {R"({"bytes": 131152, "file": "gone", "same": {"held": 0}, "blocks": [2]})", "gone"},
      {R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [1]})", "shorter"},
      {R"({"bytes": 131152, "file": "long", "same": {"held": 0}, "blocks": [2]})", "longer"},
  };
  for (const auto& [storage, why] : lies) EXPECT_THAT(seen(storage), HasSubstr(why)) << storage;
  EXPECT_EQ(seen(R"({"bytes": 131152, "file": "0", "same": {"held": 0}, "blocks": [2]})"),
            bytes_.substr(0, 2 * kDigestBlock) + std::string(80, 'x'));
}

TEST_F(Known, AWorkerThatWasToldNothingCanUseNothing) {
  held_.clear();
  EXPECT_THAT(seen(R"({"bytes": 131152, "same": {"held": 0}, "blocks": []})"), HasSubstr("0 of 0"));
}

TEST_F(Known, ARequestSaysTheDigestsOfEachBlock) {
  const Json said = to_json(held_);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0]["bytes"], bytes_.size());
  BlockDigest digests[3];
  digest_on_host(bytes_.data(), bytes_.size(), digests);
  std::string text;
  for (const BlockDigest& each : digests) text += fmt::format("{:016x}{:016x}", each.a, each.b);
  EXPECT_EQ(said[0]["digests"], text);
}

TEST_F(Known, WhatIsNotWorthItIsNotNamed) {
  write("small", std::string(kDigestBlock - 1, 'x'));
  HeldStorages held = held_;
  add_held(held, {*FileCopy::open(folder_ / "small"), file_});
  add_held(held, held_);
  EXPECT_EQ(held.size(), 1U) << "less than a block; and twice the same one";
  for (int i = 0; i < 300; ++i) add_held(held, {*FileCopy::open(folder_ / "held")});
  EXPECT_EQ(held.size(), 256U);
}

/// Whatever a worker says of what is the same: an error, or a storage of the size that it has.
TEST(Fuzz, EveryStorageThatIsTheSameGivesAnErrorOrItsBytes) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("lockstep-fuzz-known-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "0", std::ios::binary) << std::string(80, 'x');
  std::ofstream(folder / "held", std::ios::binary) << std::string(2 * kDigestBlock + 80, 'k');
  HeldStorages held;
  add_held(held, {*FileCopy::open(folder / "held")});
  const std::string original = R"({"outcome": "unsupported", "reason": "none", "storages": [
      {"file": "0", "bytes": 131152, "same": {"held": 0}, "blocks": [2]},
      {"bytes": 131152, "same": {"storage": 0}, "blocks": []}, {"file": "0", "bytes": 80}]})";
  const auto [begin, count] = fuzz::stint();
  std::size_t read = 0, refused = 0;
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    fuzz::Random random(seed * 1'000'003);
    const std::string text = fuzz::changed_json(original, random);
    const auto observation = parse_observation(text, folder, held);
    ++(observation ? read : refused);
    if (!observation) continue;
    for (const auto& storage : observation->storages) {
      const std::size_t size = storage->bytes().size();
      ASSERT_TRUE(size == 80 || size == 2 * kDigestBlock + 80) << "seed " << seed << ":\n" << text;
    }
  }
  fs::remove_all(folder);
  if (count < 1000) return;
  EXPECT_GT(read, count / 20);
  EXPECT_GT(refused, count / 5);
}

}  // namespace
}  // namespace lockstep
