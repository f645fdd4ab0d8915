#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/process.h"
#include "wire/message_reader.h"

namespace lockstep {

/// The runner's end of the conversation with one worker process (see design/protocol.md).  Never
/// blocks, and takes a bounded part of what a worker says at a time, so that one that says much
/// keeps nobody waiting.
class WorkerConnection {
 public:
  /// What is read in one `receive`, bytes: more than a pipe holds, unless its worker made it
  /// larger.
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 18;

  explicit WorkerConnection(Process process) : process_(std::move(process)) {}

  Process& process() { return process_; }
  const Process& process() const { return process_; }
  /// Queues a message; `flush` sends what the pipe takes.
  void send(const Json& message);
  bool wants_to_write() const { return !outgoing_.empty(); }
  void flush();
  /// What has arrived, at most kMostAtOnce bytes of it.  After the end of the stream or a breach of
  /// the protocol `fault` says what happened and nothing more comes.
  std::vector<WorkerMessage> receive();
  const std::string& fault() const { return fault_; }
  /// It has ended an execution that was asked of it, and may say as much again as it could.
  void renew_quota() { incoming_.renew_quota(); }
  /// It broke the protocol: this message may not come at this point.
  void refuse(const std::string& what);

 private:
  Process process_;
  std::string outgoing_;
  MessageReader incoming_;
  std::string fault_;
};

}  // namespace lockstep
