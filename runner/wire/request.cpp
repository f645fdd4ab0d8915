#include "wire/request.h"

namespace lockstep {

Json to_json(const HelloRequest& request) {
  Json hello = {
      {"type", "hello"},
      {"protocol", 2},
      {"threads", request.threads},
      {"cache", nullptr},
      {"limits", {{"memory_bytes", request.memory_bytes}, {"file_bytes", request.file_bytes}}},
      {"libraries", Json::array()},
      {"modules", request.modules}};
  if (!request.own_modules.empty()) hello["own_modules"] = request.own_modules;
  if (request.cache) hello["cache"] = request.cache->string();
  for (const auto& library : request.libraries) hello["libraries"].push_back(library.string());
  for (const auto& [kind, file] : request.digests) hello["digests"][kind] = file.string();
  return hello;
}

Json to_json(const ExecutionRequest& request) {
  Json run = {{"instance", request.instance}, {"path", request.path},
              {"device", request.device},     {"mode", request.mode},
              {"repeat", request.repeat},     {"seed", request.seed},
              {"program", request.program},   {"calls", request.calls}};
  if (request.reseed) run["reseed"] = true;
  if (request.threads > 0) run["threads"] = request.threads;
  return run;
}

Json run_message(std::int64_t run, const Json& request, const std::vector<StorageFile>& storages,
                 const std::filesystem::path& out, const std::filesystem::path& before,
                 const HeldStorages* held) {
  Json message = {{"type", "run"}, {"run", run}};
  message.update(request);
  message["type"] = "run";
  message["run"] = run;
  message["storages"] = Json::array();
  for (const StorageFile& storage : storages)
    message["storages"].push_back({{"file", storage.file.string()}, {"bytes", storage.bytes}});
  message["out"] = out.string();
  message.erase("before");
  if (!before.empty()) message["before"] = before.string();
  message.erase("held");
  if (held != nullptr) message["held"] = to_json(*held);
  return message;
}

Json batch_message(const std::vector<Json>& runs) { return {{"type", "batch"}, {"runs", runs}}; }

Json stop_message() { return {{"type", "stop"}}; }

}  // namespace lockstep
