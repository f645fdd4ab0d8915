#include "run/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

/// An environment variable, or that there is none, for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

SessionSettings settings() {
  SessionSettings settings;
  settings.home = "/suite";
  settings.python = "python";
  settings.eager = "eager";
  return settings;
}

/// The environment of the worker of a path with this one.
std::vector<std::pair<std::string, std::string>> environment_of(
    const std::string& worker, std::vector<std::pair<std::string, std::string>> environment) {
  Path path;
  path.name = "p";
  path.worker = worker;
  if (worker.empty()) path.command = {"mine"};
  path.environment = std::move(environment);
  return worker_of(path, settings()).environment;
}

TEST(Workers, FindTheirModulesWhateverThePathSets) {
  const Variable modules("PYTHONPATH", "/a:/b");
  const Variable empty("LD_LIBRARY_PATH", "");
  const Variable commands("PATH", "/bin");
  const Variable tuned("GLIBC_TUNABLES", "glibc.malloc.check=1");
  const std::string ours = "/suite/runner/workers/compiled:/a:/b";
  EXPECT_THAT(environment_of("compiled", {}), ElementsAre(Pair("PYTHONPATH", ours)));
  EXPECT_THAT(environment_of("compiled", {{"PYTHONPATH", "/vendor"}, {"LEVEL", "3"}}),
              ElementsAre(Pair("PYTHONPATH", "/vendor:" + ours), Pair("LEVEL", "3")));
  // An empty entry would mean the working directory.
  EXPECT_THAT(environment_of("compiled", {{"PYTHONPATH", ""}, {"LD_LIBRARY_PATH", "/lib"}}),
              ElementsAre(Pair("PYTHONPATH", ours), Pair("LD_LIBRARY_PATH", "/lib")));
  // Of the other workers Lockstep sets no folders: what there is stays.
  for (const char* worker : {"eager", ""}) {
    EXPECT_THAT(environment_of(worker, {}), ElementsAre());
    EXPECT_THAT(environment_of(worker, {{"PATH", "/vendor/bin"}, {"LEVEL", ""}}),
                ElementsAre(Pair("PATH", "/vendor/bin:/bin"), Pair("LEVEL", "")));
  }
}

TEST(Workers, ForkFromHugePagesUnlessSomebodyHasTunedMalloc) {
  const auto huge = Pair("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
  const auto own = Pair("GLIBC_TUNABLES", "glibc.malloc.check=1");
  for (const char* worker : {"eager", "compiled"}) {
    const Variable untuned("GLIBC_TUNABLES", nullptr);
    EXPECT_THAT(environment_of(worker, {}), Contains(huge));
    EXPECT_THAT(environment_of(worker, {{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}),
                AllOf(Contains(own), Not(Contains(huge))));
    const Variable tuned("GLIBC_TUNABLES", "glibc.malloc.check=1");
    EXPECT_THAT(environment_of(worker, {}), Not(Contains(Key("GLIBC_TUNABLES"))));
  }
  EXPECT_THAT(environment_of("", {}), ElementsAre());  // a vendor's own command
}

}  // namespace
}  // namespace lockstep
