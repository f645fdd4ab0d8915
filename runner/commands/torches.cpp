#include "commands/torches.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/bounded_json.h"
#include "base/spawn.h"
#include "base/text.h"
#include "commands/capture.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr JsonBounds kAnswer{1 << 20, 8, 1 << 16};

/// Asks environments.py; it says on standard error what is wrong.
Answer<Json> ask_environments(const Surroundings& at, const std::string& what,
                              const std::vector<std::string>& words, const std::string& index) {
  const fs::path file = package_file(at.home, "environments.py");
  if (file.empty())
    return refuse(Exit::internal,
                  {fmt::format("{} has nothing that knows environments of torch", at.home.string()),
                   "install Lockstep again"});
  Spawn spawn{{at.python, file.string(), what}, {}, {}, {}, {}};
  spawn.environment = {{"LOCKSTEP_CACHE", fs::absolute(at.cache).string()}};
  if (!index.empty()) spawn.argv.push_back("--index-url=" + index);
  spawn.argv.emplace_back("--");
  spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
  const auto printed = printed_by(spawn, kAnswer.bytes);
  if (!printed) return refuse(Exit::internal, printed.error());
  if (printed->status != 0)
    return tl::unexpected(Failure{printed->status == 2 ? Exit::usage : Exit::internal, {}, {}});
  auto json = parse_bounded_json(printed->text, kAnswer);
  if (!json) return refuse(Exit::internal, json.error());
  return std::move(*json);
}

std::optional<double> number_in(const Json& json, const char* key) {
  return json.at(key).is_number() ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

FoundTorch torch_of(const Json& json) {
  FoundTorch torch;
  torch.word = json.at("word");
  torch.name = json.at("name");
  torch.version = json.at("version");
  torch.note = json.at("note");
  torch.python = json.at("python").get<std::string>();
  torch.eager = json.at("eager").get<std::string>();
  torch.provider = json.at("provider").get<std::string>();
  torch.ready = json.at("ready");
  torch.seconds = number_in(json, "seconds");
  torch.bytes = number_in(json, "bytes");
  return torch;
}

Answer<std::vector<FoundTorch>> ask_for_torches(const Surroundings& at, const std::string& what,
                                                const std::vector<std::string>& words,
                                                const std::string& index) {
  const auto answer = ask_environments(at, what, words, index);
  if (!answer) return tl::unexpected(answer.error());
  std::vector<FoundTorch> torches;
  for (const Json& each : *answer) torches.push_back(torch_of(each));
  return torches;
}

}  // namespace

Answer<std::vector<FoundTorch>> find_torches(const Surroundings& at,
                                             const std::vector<std::string>& words,
                                             const std::string& index) {
  return ask_for_torches(at, "find", words, index);
}

Answer<std::vector<FoundTorch>> provide_torches(const Surroundings& at,
                                                const std::vector<FoundTorch>& torches,
                                                const std::string& index) {
  std::vector<std::string> words;
  for (const FoundTorch& each : torches) words.push_back(each.word);
  return ask_for_torches(at, "provide", words, index);
}

Answer<std::vector<std::string>> versions_between(const Surroundings& at, const std::string& old,
                                                  const std::string& other,
                                                  const std::string& index) {
  const auto answer = ask_environments(at, "wheels", {old, other}, index);
  if (!answer) return tl::unexpected(answer.error());
  return answer->get<std::vector<std::string>>();
}

Result<int> call_with(const FoundTorch& torch, const Surroundings& at,
                      const std::vector<std::string>& words, const fs::path& directory) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  Spawn spawn{{self.string()}, {}, {}, {}, {}};
  spawn.argv.insert(spawn.argv.end(), words.begin(), words.end());
  const std::string python = torch.python.string();
  spawn.environment = {
      {"LOCKSTEP_HOME", fs::absolute(at.home).string()},
      {"LOCKSTEP_CACHE", fs::absolute(at.cache).string()},
      {"LOCKSTEP_PYTHON", python},
      {"LOCKSTEP_EAGER", torch.eager.string()},
      {"LOCKSTEP_PROVIDER", torch.provider.string()},
      // What the log says of how a verdict is repeated works with that torch.
      {"LOCKSTEP_COMMAND", fmt::format("LOCKSTEP_PYTHON={} {}", shell_quote(python), at.launcher)}};
  spawn.output_to = STDERR_FILENO;
  spawn.directory = directory;
  return exit_status_of(spawn);
}

}  // namespace lockstep
