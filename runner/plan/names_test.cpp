#include "plan/names.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

std::string faults(const std::string& more, const ValidNames& names) {
  Diagnostics diagnostics;
  const CaseFile file = parse_case_file({"cases/a.json", "{" + more + "}", {}}, diagnostics);
  check_names(file, names, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

Path path(const std::string& name, std::vector<std::string> devices) {
  Path result;
  result.name = name;
  result.devices = std::move(devices);
  return result;
}

const ValidNames& names() {
  static const ValidNames known =
      valid_names({path("eager", {"*"}), path("inductor", {"cpu", "cuda*", "!abacus"}),
                   path("mine", {"slide-rule:0"})});
  return known;
}

TEST(Names, AreThoseOfPathsAndOfWhatPathsRunOn) {
  EXPECT_EQ(
      faults(R"("only": {"paths": ["mine", "!eager"], "devices": ["cpu", "cuda:1"]})", names()),
      "");
  EXPECT_EQ(faults(R"("only": {"paths": ["openvino*"], "devices": ["slide-rule", "nothing-?"]})",
                   names()),
            "");
  EXPECT_NE(faults(R"("only": {"devices": ["abacus"]})", names()), "");
}

TEST(Names, AreThoseOfTheTorchAtHand) {
  const auto registry = Registry::from_json(Json::parse(
      R"({"torch": "2.13.0", "operators_digest": "f", "operators": {}, "devices": ["cpu", "abacus"]})"));
  ASSERT_TRUE(registry);
  const std::string abacus = R"("only": {"devices": ["abacus"]})";
  EXPECT_EQ(faults(abacus, valid_names({}, &*registry)), "");
  EXPECT_NE(faults(abacus, valid_names({})), "");
}

TEST(Names, ThatAreMisspeltAreToldWithPlaceAndNearest) {
  const std::string text = faults(
      R"("only": {"paths": ["inductr", "!egaer"], "devices": ["cppu"]}, "compare": {"y": {"*": "bits", "inductro": "bits"}})",
      names());
  for (const char* part :
       {"/only/paths/0: found `inductr`, expected the name of a path", "did you mean `inductor`?",
        "/only/paths/1: found `egaer`", "/only/devices/0: found `cppu`, expected a kind of device",
        "did you mean `cpu`?", "/compare/y/inductro: found `inductro`"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Names, MayBeValuesOfAMatrix) {
  const std::string text = faults(
      R"("matrix": {"path": ["eager", "inductr"], "n": [1]}, "only": {"paths": ["$path"], "devices": ["$device"]})",
      names());
  EXPECT_NE(text.find("/matrix/path/1: found `inductr`"), std::string::npos) << text;
  EXPECT_EQ(text.find("$"), std::string::npos) << text;
}

TEST(Names, AreNotLookedAtWhereNoneAreKnown) {
  EXPECT_EQ(faults(R"("only": {"paths": ["inductr"], "devices": ["cppu"]})", {}), "");
}

TEST(Names, LeaveWhatIsIllTypedToDecoding) {
  EXPECT_EQ(faults(R"("only": {"paths": "inductr", "devices": [1]}, "compare": {"y": 1})", names()),
            "");
  EXPECT_EQ(faults(R"("only": [], "compare": [])", names()), "");
}

/// What is wrong with a path that declares one entry.
std::string declaration_faults(const std::string& entry, const Registry* registry,
                               const std::string& key = "unsupported") {
  JsonFile file{"mine.json",
                R"({"format": 2, "name": "mine", "title": "t", "contract": "bits",
"worker": "compiled", ")" +
                    key + R"(": [{"reason": "r", )" + entry + "}]}",
                {}};
  Diagnostics diagnostics;
  parse_json(file, diagnostics);
  const auto declares = decode_path(file, diagnostics);
  if (declares) check_declarations(*declares, names(), registry, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += to_string(diagnostic) + "\n";
  return text;
}

TEST(Names, ADeclarationOfAnOperatorThatThereIsNotWouldSayNothing) {
  const Json overload = {{"overload", "Tensor"},
                         {"tags", Json::array()},
                         {"arguments", Json::array()},
                         {"returns", Json::array()}};
  const auto registry = Registry::from_json(
      {{"torch", "2.13.0"},
       {"operators_digest", "f"},
       {"operators",
        {{"aten::add", Json::array({overload})}, {"mylib::sort", Json::array({overload})}}}});
  ASSERT_TRUE(registry);
  for (const char* good :
       {R"("operators": ["add", "!aten::add", "add.Tensor", "mylib::*", "*sort", "torch.relu"])",
        R"("operators": ["neverborn"], "torch": ">=2.14")", R"("devices": ["cuda:0", "!c*"])"}) {
    EXPECT_EQ(declaration_faults(good, &*registry), "") << good;
  }
  EXPECT_EQ(declaration_faults(R"("operators": ["add", "!ad"])", &*registry),
            "mine.json:2:76: /unsupported/0/operators/1: found `ad`, expected an operator of torch "
            "2.13.0 or a glob of some\n    did you mean `add`? An entry about other releases says "
            "so: \"torch\": \">=2.14\"\n");
  for (const char* bad : {R"("operators": ["fft_*"])", R"("operators": ["add.Scalar"])",
                          R"("operators": ["fft"], "torch": ">=2.13")"}) {
    EXPECT_NE(declaration_faults(bad, &*registry), "") << bad;
    EXPECT_EQ(declaration_faults(bad, nullptr), "") << bad;
  }
  const char* tolerance = R"(, "dtypes": ["float16"], "rtol": 0, "atol": 0)";
  EXPECT_EQ(declaration_faults(R"("operators": ["add"])" + std::string(tolerance), &*registry,
                               "tolerances"),
            "");
  EXPECT_NE(declaration_faults(R"("operators": ["ad"])" + std::string(tolerance), &*registry,
                               "tolerances")
                .find("/tolerances/0/operators/0: found `ad`"),
            std::string::npos);
  EXPECT_NE(declaration_faults(R"("devices": ["cudda"])", nullptr).find("did you mean `cuda`?"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
