#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

// The messages of workers (docs/design/protocol.md); wire/request.h has the messages to them.
namespace lockstep {

/// The longest line that a worker may say, bytes.
constexpr std::size_t kLongestLine = 1 << 20;

/// What a worker may say its execution is at.
constexpr std::array<std::string_view, 9> kStages = {
    "configure", "prepare", "eager", "warm", "trace", "lower", "compile", "run", "write"};

/// One thing that a worker said, checked: fields that a message must have are there, and all have
/// the types that the protocol gives them.
struct WorkerMessage {
  enum class Kind { hello, started, stage, ended };
  Kind kind = Kind::hello;
  Json hello;  ///< the whole message; `error`, if it has one, is one line
  std::int64_t run = 0;
  pid_t pid = 0;  ///< started; 0: the worker gave none
  std::string stage;
  int exit = 0;  ///< ended
  int signal = 0;
  std::string error;  ///< ended: what the worker says of an exit status that is not 0
};

/// The strings of a list that a worker's `hello` has under a key; none where it has no such list.
std::vector<std::string> strings_of(const Json& hello, const char* key);

/// Reads one line of a worker.  The Error says in one line how it breaks the protocol.
Result<WorkerMessage> read_message(std::string_view line);

}  // namespace lockstep
