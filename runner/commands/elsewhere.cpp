#include "commands/elsewhere.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/report_formats.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A member has nobody to tell: its log says everything.
class Silence : public Reporter {
 public:
  void run_started(const RunInfo&) override {}
  void note(const std::string& text) override { fmt::print(stderr, "{}\n", text); }
  void running(const std::vector<std::string>&, const std::vector<std::string>&) override {}
  void verdict(const Verdict&) override {}
  void run_ended(const RunRecord&) override {}
};

/// Takes off what is the business of whoever gives the orders.
void leave_to_others(Options& options) {
  options.on.clear();
  options.resume.clear();
  options.update_known.clear();
  for (const ReportFormat& report : report_formats()) (options.*report.file).clear();
  options.max_fail = 0;
  options.reuse = options.verbose = options.github = false;
  options.quiet = true;
  if (options.shard.empty()) options.durations.clear();
}

}  // namespace

Result<Json> parse_cluster(const std::string& text, const fs::path& directory) {
  const auto refuse = [&] {
    return fail(fmt::format("found --on {}, expected dask, dask://HOST:PORT, dask+tls://HOST:PORT, "
                            "dask:FILE or local",
                            text),
                "HOST:PORT, or the FILE that it writes, is that of a Dask scheduler: "
                "runner/run/CLUSTER.md");
  };
  if (text == "local") return Json();
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

std::optional<ClusterOptions> cluster_options(const Options& options, const Filter& filter,
                                              const Plan& plan, const fs::path& directory,
                                              std::map<std::string, double> seconds) {
  const Json on = options.on.empty() ? Json() : *parse_cluster(options.on, options.directory);
  if (on.is_null()) return std::nullopt;
  Json run = {{"arguments", options.arguments}, {"directory", options.directory.string()}};
  if (options.jobs > 0 && !on.contains("here")) run["jobs"] = options.jobs;
  // No other machine has the log that such terms read.
  if (filter.mentions(FilterSource::log)) {
    run["ids"] = Json::array();
    for (const PlanItem& item : plan.items) run["ids"].push_back(item.id);
  }
  ClusterOptions cluster;
  cluster.bridge = {(options.home / "ci" / "dask").string(), "bridge"};
  cluster.begin = {{"on", on},
                   {"home", options.home.string()},
                   {"directory", directory.string()},
                   {"run", std::move(run)}};
  if (on.contains("here")) {
    cluster.begin["on"]["workers"] = session_settings(options).jobs;
    cluster.patience = 0;
  }
  cluster.seconds = std::move(seconds);
  return cluster;
}

Result<Service> begin_service() {
  auto orders = Orders::open(STDIN_FILENO);
  if (!orders) return tl::unexpected(orders.error());
  const Json& told = orders->first();
  const auto texts = [&](const char* key) {
    std::vector<std::string> words;
    for (const Json& word : told.value(key, Json::array())) {
      if (word.is_string()) words.push_back(word);
    }
    return words;
  };
  const std::string out = told.value("out", std::string());
  Service service;
  service.options = parse_options(texts("arguments"), told.value("directory", std::string()));
  Options& options = service.options;
  if (options.command != "run" || out.empty())
    return fail("standard input does not say which run it is, or where its files go",
                "`run --on` starts this command");
  leave_to_others(options);
  options.out = out;
  options.jobs = told.value("jobs", std::size_t{1});
  if (told.contains("ids")) {
    options.select.clear();
    options.following.clear();
    options.paths.clear();
    options.devices.clear();
    options.level.clear();
    options.ladder = false;
    for (const std::string& id : texts("ids")) options.select.push_back("id:" + id);
  }
  service.log_to = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (service.log_to < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    return fail("standard output cannot be written to");
  service.orders = std::make_shared<Orders>(std::move(*orders));
  return service;
}

Exit serve(const Service& service, const Plan& plan, Session& session, RunSettings settings) {
  settings.orders = service.orders;
  settings.log_to = service.log_to;
  settings.operators = nullptr;  // whoever gives the orders counts what is covered
  settings.max_failures = 0;
  Silence silence;
  auto record = session.run(plan, settings, silence);
  if (record) return Exit::ok;
  print_error(record.error());
  return Exit::internal;
}

}  // namespace lockstep
