#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/process.h"

namespace lockstep {

/// One thing that a worker said, checked: fields that a message must have are there.
struct WorkerMessage {
  enum class Kind { hello, started, stage, ended };
  Kind kind = Kind::hello;
  Json hello;  ///< the whole message
  std::int64_t run = 0;
  pid_t pid = 0;  ///< started; 0: the worker gave none
  std::string stage;
  int exit = 0;  ///< ended
  int signal = 0;
  std::string error;  ///< ended: what the worker says of an exit status that is not 0
};

/// The runner's end of the conversation with one worker process (see workers/PROTOCOL.md).  Never
/// blocks.
class WorkerConnection {
 public:
  explicit WorkerConnection(Process process) : process_(std::move(process)) {}

  Process& process() { return process_; }
  /// Queues a message; `flush` sends what the pipe takes.
  void send(const Json& message);
  bool wants_to_write() const { return !outgoing_.empty(); }
  void flush();
  /// Everything that has arrived.  After the end of the stream or a breach of the protocol `fault`
  /// says what happened and nothing more comes.
  std::vector<WorkerMessage> receive();
  const std::string& fault() const { return fault_; }

 private:
  std::optional<WorkerMessage> decode(std::string_view line);
  Process process_;
  std::string outgoing_;
  std::string incoming_;
  std::string fault_;
};

}  // namespace lockstep
