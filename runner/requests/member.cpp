#include "requests/member.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/text.h"
#include "record/alike.h"
#include "requests/decode.h"
#include "requests/surroundings.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Removes what only the machine that gives the requests does.
void leave_to_others(RunRequest& request) {
  request.on.clear();
  request.resume.clear();
  request.reporting.update_known.clear();
  request.reporting.accept_crashes = false;
  request.reporting.files.clear();
  request.max_fail = 0;
  request.explain_seconds = 0;
  request.reuse = request.reporting.verbose = request.reporting.github = false;
  request.reporting.quiet = true;
  if (request.shard.empty()) request.durations.clear();
}

std::vector<std::string> texts_of(const Json& message, const char* key) {
  std::vector<std::string> words;
  for (const Json& word : message.value(key, Json::array())) {
    if (word.is_string()) words.push_back(word);
  }
  return words;
}

}  // namespace

Result<Json> parse_cluster(const std::string& text, const fs::path& directory) {
  const auto refuse = [&] {
    return fail(fmt::format("found --on {}, expected dask, dask://HOST:PORT, dask+tls://HOST:PORT, "
                            "dask:FILE or local",
                            text),
                "HOST:PORT, or the FILE that it writes, is that of a Dask scheduler: "
                "docs/release/cluster.md");
  };
  if (text.empty() || text == "local") return Json();
  if (text == "dask") return Json{{"here", true}};
  for (const auto& [scheme, protocol] :
       {std::pair("dask://", "tcp://"), std::pair("dask+tls://", "tls://")}) {
    if (!text.starts_with(scheme)) continue;
    const std::string address = text.substr(std::string_view(scheme).size());
    const std::size_t colon = address.rfind(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == address.size() ||
        address.find_first_not_of("0123456789", colon + 1) != std::string::npos)
      return refuse();
    return Json{{"address", protocol + address}};
  }
  if (!text.starts_with("dask:") || text.size() == 5) return refuse();
  return Json{{"file", (directory / text.substr(5)).lexically_normal().string()}};
}

namespace {

/// How the driver of Dask is called: a clone makes an environment for it; an installed Lockstep
/// takes LOCKSTEP_DASK, an interpreter that has Dask, or its own.
std::vector<std::string> bridge_words(const Surroundings& at) {
  std::error_code error;
  if (const fs::path made = at.home / "ci" / "dask"; fs::exists(made, error))
    return {made.string(), "bridge"};
  const std::string given = environment_variable("LOCKSTEP_DASK");
  return {given.empty() ? at.python : given,
          (at.home / "runner" / "run" / "dask_bridge.py").string()};
}

}  // namespace

std::optional<ClusterOptions> cluster_options(const RunRequest& request, const Filter& filter,
                                              const Plan& plan, const fs::path& directory,
                                              std::map<std::string, double> seconds) {
  const Surroundings& at = request.basis.at;
  const Json on = parse_cluster(request.on, at.directory).value_or(Json());
  if (on.is_null()) return std::nullopt;
  Json run = {{"arguments", words_of(request)}, {"directory", at.directory.string()}};
  if (request.basis.pace.jobs > 0 && !on.contains("here")) run["jobs"] = request.basis.pace.jobs;
  // No other machine has the log that such terms read.
  if (filter.mentions(FilterSource::log)) {
    run["ids"] = Json::array();
    for (const PlanItem& item : plan.items) run["ids"].push_back(item.id);
  }
  ClusterOptions cluster;
  cluster.bridge = bridge_words(at);
  cluster.begin = {{"on", on},
                   {"home", at.home.string()},
                   {"directory", directory.string()},
                   {"run", std::move(run)}};
  if (on.contains("here")) cluster.begin["on"]["workers"] = request.basis.pace.executions();
  cluster.seconds = std::move(seconds);
  return cluster;
}

Result<RunRequest> decode_member(const Json& message) {
  const std::string out = message.value("out", std::string());
  auto request =
      decode_run(texts_of(message, "arguments"), message.value("directory", std::string()));
  if (!request || out.empty())
    return fail("standard input does not say which run it is, or where its files go",
                "`run --on` starts this command");
  leave_to_others(*request);
  request->out = out;
  request->basis.pace.jobs = message.value("jobs", std::size_t{1});
  if (message.contains("ids")) {
    request->basis.choice = {};
    for (const std::string& id : texts_of(message, "ids"))
      request->basis.choice.select.push_back("id:" + id);
  }
  return request;
}

std::string difference_from(const Json& alike, const RunInfo& info, const std::string& eager,
                            const Json& eager_environment, const Json& machine) {
  const auto object = [](const Json& of, const std::string& key) {
    const auto found = of.find(key);
    return found != of.end() && found->is_object() ? *found : Json::object();
  };
  const auto theirs = run_info_from_json(object(alike, "run"));
  if (!theirs) return "it cannot be compared: " + theirs.error().message;
  const Json environment = object(alike, "environment");
  if (const auto others = other_settings(object(environment, eager), eager_environment);
      !others.empty())
    return fmt::format("it has {} {}, the machine of the run {}", others.front().key,
                       others.front().other.dump(), others.front().one.dump());
  // Below its level, too, a CPU's features decide which kernels its libraries take.
  const std::string one = said_by(environment, "machine", "cpu_features"),
                    other = said_by({{"machine", machine}}, "machine", "cpu_features");
  if (one != other)
    return fmt::format("its CPU has the features {}, that of the run {}", other, one);
  if (theirs->version != info.version)
    return fmt::format("it is Lockstep {}, the run's is {}", info.version, theirs->version);
  if (const auto digests = other_digests(*theirs, info); !digests.empty())
    return fmt::format("it has other {}", fmt::join(digests, ", "));
  if (theirs->plan != info.plan)
    return "it makes another plan of the same files: its devices or the paths that it can use are "
           "others";
  return "";
}

Answer<MemberRequest> read_member() {
  constexpr JsonBounds kBounds = {.bytes = 64 << 20, .depth = 16, .values = 1 << 22};
  auto requests = std::make_shared<JsonLines>(STDIN_FILENO, kBounds);
  Result<std::optional<Json>> first = std::nullopt;
  while (first && !*first && !requests->ended()) {
    requests->read(-1);
    first = requests->next();
  }
  const Json message = first.value_or(std::nullopt).value_or(Json::object());
  auto run = decode_member(message);
  if (!run) return refuse(Exit::usage, run.error());
  MemberRequest request;
  request.run = std::move(*run);
  request.alike = message.value("alike", Json::object());
  request.log_to = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (request.log_to < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return refuse(Exit::usage, {"standard output cannot be written to", ""});
  request.requests = std::move(requests);
  return request;
}

}  // namespace lockstep
