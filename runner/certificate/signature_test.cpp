#include "certificate/signature.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "base/spawn.h"

namespace lockstep {
namespace {
namespace fs = std::filesystem;

class SignatureTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "work");
    put("archive", "what is certified");
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  fs::path put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / name, text));
    return folder_ / name;
  }
  void run(std::vector<std::string> argv) {
    const auto ran = run_to_end({std::move(argv), {}, {}, folder_ / "out", folder_ / "err"});
    EXPECT_TRUE(ran) << ran.error().message;
  }
  auto check(const Signature& signature) {
    return check_signature(folder_ / "archive", signature, folder_ / "work");
  }
  /// A signature by a new key of ssh, whose public half signers() lists.
  fs::path sign(const std::string& space = "lockstep") {
    fs::remove(folder_ / "key");
    fs::remove(folder_ / "archive.sig");
    run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder_ / "key"});
    run({"ssh-keygen", "-Y", "sign", "-f", folder_ / "key", "-n", space, folder_ / "archive"});
    return folder_ / "archive.sig";
  }
  fs::path signers(const std::string& who = "certify@vendor.example") {
    return put("signers", who + " " + read_file(folder_ / "key.pub").value_or(""));
  }
  /// A tool of this name alone is installed, which writes its words to a file.
  void install(const std::string& name, int status) {
    fs::create_directories(folder_ / "bin");
    const fs::path tool =
        put("bin/" + name, "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + (folder_ / "words").string() +
                               "'\necho 'Trusted comment: release 3'\nexit " +
                               std::to_string(status) + "\n");
    fs::permissions(tool, fs::perms::owner_all);
    ::setenv("PATH", (folder_ / "bin").c_str(), 1);
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = std::getenv("PATH");
};

TEST_F(SignatureTest, OneOfSshIsOfWhoMaySign) {
  if (!is_installed("ssh-keygen")) GTEST_SKIP() << "there is no ssh-keygen";
  const fs::path signature = sign();
  for (const std::string who :
       {"certify@vendor.example", "certify@vendor.example,other@x", "*@x"}) {
    const auto said = check({signature, signers(who), ""});
    ASSERT_TRUE(said) << said.error().error.message;
    EXPECT_NE(said->find("Good \"lockstep\" signature for " + who.substr(0, who.find(','))),
              std::string::npos)
        << *said;
    EXPECT_EQ(said->find('\n'), std::string::npos);
  }
}

TEST_F(SignatureTest, OneThatIsWrongIsRefused) {
  if (!is_installed("ssh-keygen")) GTEST_SKIP() << "there is no ssh-keygen";
  const auto is_wrong = [&](const fs::path& signature) {
    const auto said = check({signature, folder_ / "signers", ""});
    return !said && said.error().is_wrong && !said.error().error.message.empty();
  };
  const fs::path signature = sign();
  signers();
  EXPECT_FALSE(is_wrong(signature));
  put("archive", "what is certifiee");
  EXPECT_TRUE(is_wrong(signature)) << "of another archive";
  put("archive", "what is certified");
  const std::string bytes = read_file(signature).value();
  put("cut", bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(is_wrong(folder_ / "cut"));
  EXPECT_TRUE(is_wrong(sign())) << "by a key that is not listed";
  const fs::path of_something_else = sign("git");
  signers();
  EXPECT_TRUE(is_wrong(of_something_else)) << "not for -n lockstep";
}

TEST_F(SignatureTest, MinisignIsToldTheKeyOrItsFile) {
  const fs::path signature = put("archive.minisig", "untrusted comment: signature\nRU\n");
  install("minisign", 0);
  const std::string hostile = "RW$(touch x)`id`";
  const auto said = check({signature, "", hostile});
  ASSERT_TRUE(said) << said.error().error.message;
  EXPECT_EQ(*said, "Trusted comment: release 3");
  const std::string words =
      "-V\n-m\n" + (folder_ / "archive").string() + "\n-x\n" + signature.string() + "\n";
  EXPECT_EQ(read_file(folder_ / "words").value(), words + "-P\n" + hostile + "\n");
  const fs::path key = put("key", "untrusted comment: key\nRW\n");
  ASSERT_TRUE(check({signature, "", key.string()}));
  EXPECT_EQ(read_file(folder_ / "words").value(), words + "-p\n" + key.string() + "\n");
  install("minisign", 1);
  const auto refused = check({signature, "", key.string()});
  EXPECT_TRUE(!refused && refused.error().is_wrong);
}

TEST_F(SignatureTest, WhoCannotTellSaysWhatLacks) {
  const fs::path of_ssh = put("of-ssh", "-----BEGIN SSH SIGNATURE-----\n"),
                 of_minisign = put("of-minisign", "untrusted comment: x\n");
  const auto lacks = [&](const Signature& signature) {
    const auto said = check(signature);
    EXPECT_FALSE(said || said.error().is_wrong);
    return said ? std::string() : said.error().error.message + "; " + said.error().error.hint;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  install("nothing", 0);
  has(lacks({of_ssh, folder_ / "archive", ""}), "apt-get install openssh-client");
  has(lacks({of_minisign, "", "RW"}), "apt-get install minisign");
  install("ssh-keygen", 0);
  install("minisign", 0);
  has(lacks({of_ssh, "", ""}), "needs --signers FILE");
  has(lacks({of_ssh, folder_ / "none", ""}), "none");
  has(lacks({of_minisign, "", ""}), "needs --key KEY");
  has(lacks({folder_ / "archive", "", ""}), "found `what is certified`");
  has(lacks({folder_ / "none", "", ""}), "none");
  EXPECT_FALSE(fs::exists(folder_ / "words")) << "nothing was asked";
}

}  // namespace
}  // namespace lockstep
