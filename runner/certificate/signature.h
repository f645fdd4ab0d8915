#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace lockstep {

/// A signature of an archive, and who may have made it.
struct Signature {
  std::filesystem::path file;     ///< made by `ssh-keygen -Y sign -n lockstep`, or by minisign
  std::filesystem::path signers;  ///< of ssh: the file allowed_signers of ssh-keygen(1)
  std::string key;                ///< of minisign: the public key, or the name of a file with it
};

/// Why an archive is not known to be signed.
struct NotSigned {
  Error error;
  bool is_wrong = false;  ///< the signature is another one's; else nobody can tell
};

/// What the tool that made a signature says of it, as one line; Lockstep has no cryptography of its
/// own.  `folder`: an empty one, for what the tools write.
tl::expected<std::string, NotSigned> check_signature(const std::filesystem::path& archive,
                                                     const Signature& signature,
                                                     const std::filesystem::path& folder);

}  // namespace lockstep
