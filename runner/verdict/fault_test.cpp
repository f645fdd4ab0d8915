#include "verdict/fault.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace lockstep {
namespace {

/// A verdict whose output `y` is off by so much, where eager has so much.
Verdict off_by(double difference, double eager = 1, std::string name = "y",
               std::string policy = "bits") {
  Verdict verdict;
  verdict.found.status = Status::value_diverges;
  OutputComparison output;
  output.name = name;
  output.policy = std::move(policy);
  output.type = "float32[1]";
  output.status = Status::value_diverges;
  output.elements = output.differing = output.classes.value = 1;
  output.max_abs = difference;
  output.eager = std::to_string(eager);
  output.compiled = std::to_string(eager + difference);
  verdict.found.outputs = {output};
  verdict.found.differences = {{Status::value_diverges, std::move(name), "differs", 0}};
  return verdict;
}

TEST(Faults, AreTheSameWithinAFactorOfTen) {
  const Fault fault = fault_of(off_by(1e-2));
  EXPECT_TRUE(has(off_by(1e-2), fault));
  EXPECT_TRUE(has(off_by(5e-2), fault));
  EXPECT_TRUE(has(off_by(2e-3), fault));
  EXPECT_FALSE(has(off_by(1e-4), fault));
  EXPECT_FALSE(has(off_by(1), fault));
  EXPECT_TRUE(has(off_by(1, 100), fault)) << "of greater numbers the same fraction";
}

TEST(Faults, AreOfOneOutputAndOneKind) {
  const Fault fault = fault_of(off_by(1e-2));
  EXPECT_FALSE(has(off_by(1e-2, 1, "z"), fault));
  Verdict nan = off_by(1e-2);
  nan.found.outputs[0].classes = {};
  nan.found.outputs[0].classes.nan = nan.found.outputs[0].classes.eager_nan = 1;
  EXPECT_FALSE(has(nan, fault));
  Verdict crash;
  crash.found.status = Status::crash;
  EXPECT_FALSE(has(crash, fault));
  EXPECT_TRUE(has(crash, fault_of(crash)));
}

TEST(Faults, ContradictWhereTheOtherSideIsRight) {
  Verdict wrong = off_by(1e-2), right = off_by(1e-2);
  wrong.found.nearer = Nearer::eager;
  right.found.nearer = Nearer::compiled;
  EXPECT_FALSE(has(right, fault_of(wrong)));
  right.found.nearer.reset();
  EXPECT_TRUE(has(right, fault_of(wrong))) << "nobody asked";
}

TEST(Faults, AreMeasuredInUlpsWhereTheVerdictFailedByThose) {
  const auto by = [](double ulps) {
    Verdict verdict = off_by(1e-9, 1, "y", "ulp(4)");
    verdict.found.outputs[0].checks = {{"ulp(4)", Quantity::ulp, ulps, 4, false}};
    return verdict;
  };
  EXPECT_TRUE(has(by(3000), fault_of(by(1000))));
  EXPECT_FALSE(has(by(5), fault_of(by(1000)))) << "though the absolute difference is the same";
  EXPECT_EQ(describe(fault_of(by(1000))), "1000 ulp");
}

TEST(Faults, OfWhatConformsAreItsGreatestDifference) {
  Verdict verdict = off_by(1e-6);
  verdict.found.status = Status::conform;
  verdict.found.outputs[0].status = Status::conform;
  verdict.found.differences.clear();
  const Fault fault = fault_of(verdict);
  EXPECT_EQ(fault.name, "y");
  EXPECT_TRUE(has(verdict, fault));
  verdict.found.outputs[0].differing = 0;
  EXPECT_EQ(fault_of(verdict).name, "");
  EXPECT_EQ(share_of(verdict, fault), 0);
}

}  // namespace
}  // namespace lockstep
