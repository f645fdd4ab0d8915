#include "workers/eager/losses.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <functional>

#include "program/visit.h"
#include "workers/eager/gold.h"
#include "workers/eager/operators.h"

namespace lockstep::eager {
namespace {

using c10::IValue;

struct UsedNames : Visitor {
  std::vector<std::string> names;
  void uses(const std::string& name) { names.push_back(name); }
};

/// The names that a value uses, those in its lists too.
std::vector<std::string> names_in(const Value& value) {
  UsedNames used;
  walking::value(value, used);
  return used.names;
}

void each_storage(const IValue& value, const std::function<void(const c10::Storage&)>& visit) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && tensor.has_storage()) visit(tensor.storage());
  } else if (value.isTuple()) {
    for (const IValue& item : value.toTupleRef().elements()) each_storage(item, visit);
  } else if (value.isList()) {
    for (const IValue& item : value.toListRef()) each_storage(item, visit);
  }
}

}  // namespace

std::vector<std::string> names_used(const Step& step) {
  OuterNames names;
  walk(step, names);
  return std::move(names.used);
}

std::vector<std::string> names_written(const Step& step) {
  if (const auto* set = std::get_if<SetItem>(&step.does)) return names_in(set->base);
  if (const auto* apply = std::get_if<ApplyCall>(&step.does)) {
    // Through any of its names a sub-program may write to any of those outside.
    const bool any = std::any_of(apply->programs.begin(), apply->programs.end(),
                                 [](const SubProgram& each) { return writes(each.steps); });
    return any ? names_used(step) : std::vector<std::string>();
  }
  const auto* call = std::get_if<OpCall>(&step.does);
  if (call == nullptr) return {};
  const c10::FunctionSchema& schema = find_operator(call->op).schema();
  std::vector<std::string> names;
  const auto add = [&](const c10::Argument& argument, const Value& value) {
    if (!is_written(argument)) return;
    const auto more = names_in(value);
    names.insert(names.end(), more.begin(), more.end());
  };
  const auto& given = call->arguments;
  for (std::size_t i = 0; i < std::min(given.args.size(), schema.arguments().size()); ++i) {
    add(schema.arguments()[i], given.args[i]);
  }
  for (const auto& [name, value] : given.kwargs) {
    if (const auto at = schema.argumentIndexWithName(name)) {
      add(schema.arguments()[static_cast<std::size_t>(*at)], value);
    }
  }
  return names;
}

bool writes(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    const auto* block = std::get_if<WithBlock>(&step.does);
    return block == nullptr ? !names_written(step).empty() : writes(block->steps);
  });
}

std::string Losses::reason_for(const IValue& value) const {
  std::string reason;
  if (memory_.empty()) return reason;
  each_storage(value, [&](const c10::Storage& storage) {
    const auto lost = memory_.find(storage.unsafeGetStorageImpl());
    if (lost != memory_.end() && reason.empty()) reason = lost->second.reason;
  });
  return reason;
}

std::string Losses::reason_for(const std::string& name, const Scope& scope) const {
  const auto lost = names_.find(name);
  if (lost != names_.end()) return lost->second.reason;
  const auto value = scope.find(name);
  return value == scope.end() ? "" : reason_for(value->second);
}

std::string Losses::reason_for(const Step& step, const Scope& scope) const {
  if (names_.empty() && memory_.empty()) return "";
  for (const std::string& name : names_used(step)) {
    if (std::string reason = reason_for(name, scope); !reason.empty()) return reason;
  }
  return "";
}

void Losses::lose_memory(const std::vector<c10::Storage>& storages, const std::string& reason) {
  for (const c10::Storage& storage : storages) {
    memory_.try_emplace(storage.unsafeGetStorageImpl(), Memory{storage, reason});
  }
}

void Losses::lose(const Step& step, const std::string& reason, const Scope& scope) {
  if (const auto* block = std::get_if<WithBlock>(&step.does)) {
    for (const Step& inner : block->steps) lose(inner, reason, scope);
    return;
  }
  const auto memory_of = [&](const std::vector<std::string>& names) {
    std::vector<c10::Storage> memory;
    for (const std::string& name : names) {
      if (const auto lost = names_.find(name); lost != names_.end()) {
        memory.insert(memory.end(), lost->second.memory.begin(), lost->second.memory.end());
      } else if (const auto value = scope.find(name); value != scope.end()) {
        each_storage(value->second, [&](const c10::Storage& own) { memory.push_back(own); });
      }
    }
    return memory;
  };
  lose_memory(memory_of(names_written(step)), reason);
  // Any result may be a view of any operand: more than that is never written through it.
  const std::vector<c10::Storage> memory = memory_of(names_used(step));
  for (const auto& name : step.let) {
    if (name) names_[*name] = {reason, memory};
  }
}

void Losses::lose_input(const std::string& name, const std::string& reason,
                        const std::vector<IValue>& sharing) {
  Lost& lost = names_[name] = {reason, {}};
  for (const IValue& value : sharing) {
    each_storage(value, [&](const c10::Storage& storage) { lost.memory.push_back(storage); });
  }
}

void Losses::found(const Step& step) {
  for (const auto& name : step.let) {
    if (name) found(*name);
  }
}

void Losses::found(const std::string& name) { names_.erase(name); }

}  // namespace lockstep::eager
