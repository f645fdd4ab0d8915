#include "engine/warm.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "engine/scratch.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

const std::vector<std::string> kWorker = {"python3", "-m", "lockstep_worker"};

/// A variable that is set for a test.
class Set {
 public:
  Set(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;
  ~Set() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(IdentityOfAWorker, HasWhatTorchReadsAsItIsImported) {
  const std::string before = identity_of_worker(kWorker);
  EXPECT_EQ(identity_of_worker(kWorker), before);
  EXPECT_NE(identity_of_worker({"python3.12", "-m", "lockstep_worker"}), before);
  for (const char* name : {"TORCHINDUCTOR_FREEZING", "OMP_PROC_BIND", "LOCKSTEP_PINS"}) {
    const Set set(name, "1");
    EXPECT_NE(identity_of_worker(kWorker), before) << name;
  }
}

TEST(IdentityOfAWorker, HasNothingThatAWorkerTakesOver) {
  const std::string before = identity_of_worker(kWorker);
  for (const char* name :
       {"LOCKSTEP_CACHE_OF_A_TEST", "PYTEST_SOMETHING", "OLDPWD", "TORCHINDUCTOR_CACHE_DIR"}) {
    if (std::getenv(name) != nullptr) continue;
    const Set set(name, "1");
    EXPECT_EQ(identity_of_worker(kWorker), before) << name;
  }
}

TEST(IdentityOfAWorker, HasNothingOfWhatItIsAskedFor) {
  std::vector<std::string> asked = kWorker;
  asked.emplace_back("repro");
  EXPECT_EQ(identity_of_worker(asked), identity_of_worker(kWorker));
}

TEST(IdentityOfAWorker, HasItsLimits) {
  const std::string before = identity_of_worker(kWorker);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &limit), 0);
  const rlimit other{limit.rlim_cur == 0 ? rlim_t{4096} : rlim_t{0}, limit.rlim_max};
  if (::setrlimit(RLIMIT_CORE, &other) != 0) GTEST_SKIP() << "it may not be raised here";
  EXPECT_NE(identity_of_worker(kWorker), before);
  ::setrlimit(RLIMIT_CORE, &limit);
  EXPECT_EQ(identity_of_worker(kWorker), before);
}

TEST(Resident, IsThereWhereASocketIs) {
  const auto scratch = Scratch::create();
  ASSERT_TRUE(scratch);
  const fs::path folder = scratch->path() / "residents";
  EXPECT_FALSE(has_resident(folder));
  fs::create_directories(folder);
  EXPECT_FALSE(has_resident(folder));
  EXPECT_EQ(stop_residents(folder), 0);
}

}  // namespace
}  // namespace lockstep
