#pragma once

#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/program.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

/// The names that a step uses, as often as it uses them.
std::vector<std::string> names_used(const Step& step);

/// The names that a step writes to, by its operator's schema.
std::vector<std::string> names_written(const Step& step);

/// Whether any of the steps writes into anything, those in blocks too.
bool writes(const std::vector<Step>& steps);

/// The values that a gold lacks: those that cannot be computed in higher precision, and those that
/// depend on them by name or by shared memory. The rest of the program is there.
class Losses {
 public:
  /// Why what a step uses is lost; empty: all of it is there.
  std::string reason_for(const Step& step, const Scope& scope) const;

  /// Why the value of that name is lost; empty: it is there.
  std::string reason_for(const std::string& name, const Scope& scope) const;

  /// The step is not executed: its results are lost, and what it would have written.
  void lose(const Step& step, const std::string& reason, const Scope& scope);

  /// An input that cannot be built, and those built that have the same storage.
  void lose_input(const std::string& name, const std::string& reason,
                  const std::vector<c10::IValue>& sharing);

  /// The names have values now, whatever they had before.
  void found(const Step& step);
  void found(const std::string& name);

 private:
  /// A value that is not there.
  struct Lost {
    std::string reason;
    /// That it may share; held, so that no other storage gets their address.
    std::vector<c10::Storage> memory;
  };
  struct Memory {
    c10::Storage storage;
    std::string reason;
  };

  std::string reason_for(const c10::IValue& value) const;
  void lose_memory(const std::vector<c10::Storage>& storages, const std::string& reason);

  std::map<std::string, Lost> names_;
  std::unordered_map<const void*, Memory> memory_;  ///< by StorageImpl
};

}  // namespace lockstep::eager
