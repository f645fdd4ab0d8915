#include "certificate/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/spawn.h"
#include "base/text.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// So that a signature of something else by the same key is none of an archive.
constexpr const char* kNamespace = "lockstep";

tl::unexpected<NotSigned> nobody_can_tell(std::string message, std::string hint) {
  return tl::unexpected(NotSigned{{std::move(message), std::move(hint)}, false});
}

/// Runs a tool of the signer's; what it says, as one line.
tl::expected<std::string, NotSigned> ask(std::vector<std::string> argv, const fs::path& input,
                                         const fs::path& folder) {
  const fs::path said = folder / "said";
  if (auto ran = run_to_end({std::move(argv), {}, input, said, folder / "errors"}); !ran)
    return tl::unexpected(NotSigned{ran.error(), true});
  return read_file(said).value_or("");
}

tl::expected<std::string, NotSigned> check_ssh(const fs::path& archive, const Signature& signature,
                                               const fs::path& folder) {
  if (signature.signers.empty())
    return nobody_can_tell("a signature of ssh-keygen needs --signers FILE",
                           "a line of it: certify@vendor.example ssh-ed25519 AAAA…; see "
                           "ssh-keygen(1), ALLOWED SIGNERS");
  if (auto readable = read_file(signature.signers); !readable)
    return nobody_can_tell(readable.error().message, readable.error().hint);
  const std::vector<std::string> files = {"-f", signature.signers.string(), "-s",
                                          signature.file.string()};
  std::vector<std::string> who = {"ssh-keygen", "-Y", "find-principals"};
  who.insert(who.end(), files.begin(), files.end());
  auto signer = ask(std::move(who), "", folder);
  if (!signer) return signer;
  // One that has several names has them on a line each.
  signer->erase(std::min(signer->find('\n'), signer->size()));
  std::vector<std::string> is_it = {"ssh-keygen", "-Y", "verify", "-n", kNamespace, "-I", *signer};
  is_it.insert(is_it.end(), files.begin(), files.end());
  return ask(std::move(is_it), archive, folder);
}

tl::expected<std::string, NotSigned> check_minisign(const fs::path& archive,
                                                    const Signature& signature,
                                                    const fs::path& folder) {
  if (signature.key.empty())
    return nobody_can_tell("a signature of minisign needs --key KEY",
                           "the public key, RW…, or the file that `minisign -G` has written it to");
  std::error_code error;
  const bool is_file = fs::exists(signature.key, error);
  return ask({"minisign", "-V", "-m", archive.string(), "-x", signature.file.string(),
              is_file ? "-p" : "-P", signature.key},
             "", folder);
}

}  // namespace

tl::expected<std::string, NotSigned> check_signature(const fs::path& archive,
                                                     const Signature& signature,
                                                     const fs::path& folder) {
  const auto text = read_file(signature.file);
  if (!text) return nobody_can_tell(text.error().message, text.error().hint);
  const bool is_ssh = text->starts_with("-----BEGIN SSH SIGNATURE-----");
  if (!is_ssh && !text->starts_with("untrusted comment:"))
    return nobody_can_tell(
        fmt::format("found `{}` in {}, expected a signature of `ssh-keygen -Y sign` or of minisign",
                    one_line(text->substr(0, text->find('\n')), 60), signature.file.string()),
        "");
  const char* tool = is_ssh ? "ssh-keygen" : "minisign";
  if (!is_installed(tool))
    return nobody_can_tell(
        fmt::format("{} was signed with {}, which is not installed here", signature.file.string(),
                    tool),
        fmt::format("on Debian: apt-get install {}", is_ssh ? "openssh-client" : "minisign"));
  auto said = (is_ssh ? check_ssh : check_minisign)(archive, signature, folder);
  if (said) said = one_line(said->substr(0, said->find_last_not_of(" \n") + 1), 500);
  return said;
}

}  // namespace lockstep
