#include "base/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace lockstep {
namespace {

using testing::HasSubstr;

/// An inventory with the stand-in of the runtime (testdata/fake_cudart.cpp) as `what`.
CudaInventory as(const char* what, double seconds = 60, const char* driver = "libc.so.6") {
  const std::string fake = LOCKSTEP_BINARY_DIR "/bin/fake-cudart.so";
  ::setenv("FAKE_CUDA", what, 1);
  CudaInventory found = cuda_inventory({fake, driver, fake, seconds});
  ::unsetenv("FAKE_CUDA");
  return found;
}

TEST(Cuda, DevicesAreTold) {
  const CudaInventory found = as("two");
  EXPECT_EQ(found.lacking, "");
  EXPECT_THAT(found.runtime, HasSubstr("fake-cudart.so"));
  EXPECT_EQ(found.runtime_version, 13000);
  EXPECT_EQ(found.driver_version, 13010);
  EXPECT_EQ(found.driver, "580.65.06");
  ASSERT_EQ(found.devices.size(), 2U);
  const CudaDevice& first = found.devices[0];
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.total_bytes, std::uint64_t{80} << 30);
  EXPECT_EQ(first.free_bytes, std::uint64_t{60} << 30);
  EXPECT_EQ(describe(first),
            "NVIDIA H100, compute capability 9.0, 80.0 GiB, MIG off, "
            "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0");
  const CudaDevice& second = found.devices[1];
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.mig, "on");
  EXPECT_THAT(describe(second), HasSubstr("; cannot be used: out of memory"));
}

TEST(Cuda, AnInstanceOfAPartitionedDeviceIsTold) {
  const CudaInventory found = as("instance");
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].mig, "instance");
}

TEST(Cuda, WhereThereIsNoneTheReasonIsTold) {
  const CudaInventory old = as("old");
  EXPECT_EQ(old.lacking, "the driver is for CUDA 12.4, and the runtime is of 13.0");
  EXPECT_EQ(old.remedy, "install a newer driver, or a torch for CUDA 12.4 or older");
  EXPECT_EQ(as("none", 60, "libno-driver.so").lacking,
            "no NVIDIA driver: libno-driver.so was not found");
  EXPECT_EQ(as("broken").lacking, "unknown error");
  ::setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_EQ(as("none").lacking, "CUDA_VISIBLE_DEVICES is '7', which leaves no device");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  for (const char* what : {"old", "none", "broken"}) EXPECT_TRUE(as(what).devices.empty()) << what;
}

TEST(Cuda, ADriverThatCrashesOrHangsCostsTheInventoryAlone) {
  EXPECT_THAT(as("crash").lacking, HasSubstr("ends the process: signal 6"));
  EXPECT_EQ(as("hang", 0.2).lacking, "the driver did not answer in 0.2 s");
}

TEST(Cuda, WhatIsNoRuntimeIsTold) {
  const CudaInventory found = cuda_inventory({"libm.so.6", "libcuda.so.1", "", 60});
  EXPECT_EQ(found.lacking, "the CUDA runtime lacks functions that every one has");
  EXPECT_FALSE(found.remedy.empty());
}

}  // namespace
}  // namespace lockstep
