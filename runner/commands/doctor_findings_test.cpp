#include "commands/doctor_findings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

/// "ok|subject|finding|remedy".
std::string told(const DoctorFinding& finding) {
  constexpr const char* kMarks[] = {"ok", "-", "warn", "FAIL"};
  return fmt::format("{}|{}|{}|{}", kMarks[static_cast<int>(finding.health)], finding.subject,
                     finding.finding, finding.remedy);
}

std::vector<std::string> all_told(const std::vector<DoctorFinding>& findings) {
  std::vector<std::string> all;
  for (const DoctorFinding& finding : findings) all.push_back(told(finding));
  return all;
}

Path doctor_path(const std::string& name, const std::string& device = "*") {
  Path path;
  path.name = name;
  path.worker = "compiled";
  path.devices = {device};
  path.is_default = true;
  return path;
}

TEST(DoctorFindings, SayOnWhatAPathIsAndAgainstWhat) {
  const std::vector<std::string> devices = {"cpu", "cuda:0"};
  EXPECT_EQ(told(finding_of_path(doctor_path("a"), {}, devices)), "ok|path a|on cpu and cuda:0|");
  EXPECT_EQ(told(finding_of_path(doctor_path("a", "cuda"), {}, devices)), "ok|path a|on cuda:0|");
  EXPECT_EQ(told(finding_of_path(doctor_path("a", "npu"), {}, devices)),
            "-|path a|has no device here: it is for npu|");
  Path kernels = doctor_path("kernels", "!cpu");
  kernels.is_default = false;
  kernels.reference.device = "cpu";
  EXPECT_EQ(told(finding_of_path(kernels, {}, devices)),
            "ok|path kernels|on cuda:0, compared with eager on cpu; only when named|");
  kernels.reference.device = "npu:0";
  EXPECT_EQ(told(finding_of_path(kernels, {}, devices)),
            "warn|path kernels|cannot be judged here: it is compared with eager on npu:0, which "
            "this torch does not have|name a device in its `reference` that is here");
  Path variant = doctor_path("a.avx2", "cpu");
  variant.site = variant.reference = {"", "avx2", 0};
  EXPECT_EQ(told(finding_of_path(variant, {}, devices)),
            "ok|path a.avx2|on cpu, compared with eager at avx2|");
}

TEST(DoctorFindings, SayWhyAPathCannotBeUsedAndWhatWouldHelp) {
  const std::vector<std::string> devices = {"cpu"};
  const auto absent = [&](Path path, const std::string& reason) {
    return told(finding_of_path(path, {"", reason}, devices));
  };
  EXPECT_EQ(absent(doctor_path("a"), "torch 2.13.0 has no torch._inductor.config.numerics"),
            "-|path a|cannot be used here: torch 2.13.0 has no torch._inductor.config.numerics|"
            "another release of torch may have it; until then a run leaves it out");
  Path mine = doctor_path("mine");
  mine.added = true;
  EXPECT_EQ(
      absent(mine, "cannot import mine: ModuleNotFoundError: No module named 'mine'"),
      "warn|path mine|cannot be used here: cannot import mine: ModuleNotFoundError: No module "
      "named 'mine'|install the package for this Python, or put its folder into `PYTHONPATH` of "
      "the path's `environment`; until then a run leaves it out");
  EXPECT_EQ(absent(mine, "torch 2.13.0 has no backend 'mine'"),
            "warn|path mine|cannot be used here: torch 2.13.0 has no backend 'mine'|install the "
            "package that registers it, or name its module in the path's `import`; until then a "
            "run leaves it out");
  Path variant = doctor_path("a.avx512", "cpu");
  variant.site.cpu_level = "avx512";
  EXPECT_EQ(
      absent(variant,
             "this machine has no CPU level avx512: torch can compute at default and avx2 here"),
      "-|path a.avx512|cannot be used here: this machine has no CPU level avx512: torch can "
      "compute at default and avx2 here|use another machine for it; this one can judge the levels "
      "that it has; until then a run leaves it out");
  EXPECT_EQ(told(finding_of_path(doctor_path("a"), {"it exited with 5", ""}, devices)),
            "FAIL|path a|it exited with 5|the worker's own words are above");
}

Json eager_hello(const std::string& torch, std::vector<std::string> devices) {
  return {{"environment", {{"torch", torch}, {"cpu_capability", "AVX512"}}},
          {"devices", std::move(devices)},
          {"cpu_levels", {"default", "avx2", "avx512"}}};
}

TEST(DoctorFindings, SayOfEachDeviceWhatItIsOrWhyItIsNotHere) {
  const std::string cpu =
      "ok|device cpu|torch computes on it at the level AVX512; default, avx2 and avx512 can be "
      "judged|";
  const Json gpu = {{"cuda:0", "NVIDIA H100"}};
  EXPECT_THAT(all_told(findings_of_devices(eager_hello("2.13.0+cpu", {"cpu"}), Json::object(), {})),
              ElementsAre("ok|devices|cpu|", cpu));
  EXPECT_THAT(
      all_told(findings_of_devices(eager_hello("2.13.0+cpu", {"cpu"}), gpu, {})),
      ElementsAre(
          "ok|devices|cpu|", cpu,
          "warn|device cuda|not here: the machine has NVIDIA H100, and torch "
          "2.13.0+cpu is built without CUDA|set LOCKSTEP_PYTHON to a Python whose torch has CUDA"));
  EXPECT_THAT(all_told(findings_of_devices(eager_hello("2.13.0+cu130", {"cpu"}), gpu, {})),
              ElementsAre("ok|devices|cpu|", cpu,
                          "warn|device cuda|not here: the machine has NVIDIA H100, and torch "
                          "2.13.0+cu130 does not find it|its driver must be as new as the CUDA of "
                          "this torch, and a container must be given the device"));
  EXPECT_THAT(
      all_told(findings_of_devices(eager_hello("2.13.0+cu130", {"cpu", "cuda:0"}), gpu, {})),
      ElementsAre("ok|devices|cpu and cuda:0|", cpu,
                  "ok|device cuda:0|torch computes on it: NVIDIA H100|"));
}

TEST(DoctorFindings, SayOfADeviceOfAPathThatIsMissingHowItIsBrought) {
  Path mine = doctor_path("mine", "npu:0");
  mine.added = true;
  const auto found = all_told(findings_of_devices(eager_hello("2.13.0+cpu", {"cpu"}),
                                                  Json::object(), {mine, doctor_path("b", "npu")}));
  ASSERT_EQ(found.size(), 3U) << "each kind once";
  EXPECT_EQ(found[2],
            "warn|device npu|not here, and `mine` is for it: torch 2.13.0+cpu does not find it|"
            "--library FILE loads what registers it for eager, the path's `import` what registers "
            "it in Python");
}

}  // namespace
}  // namespace lockstep
