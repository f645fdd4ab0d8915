#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "base/spawn.h"
#include "base/text.h"
#include "cases/inputs.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/selection.h"
#include "engine/scratch.h"
#include "policies/policy.h"
#include "run/scheduler.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The item to render: of several paths `inductor`, else the first that compiles.
const PlanItem* choose(const Plan& plan) {
  const PlanItem* chosen = nullptr;
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    if (path.worker != "compiled" || !path.compiles) continue;
    if (chosen == nullptr || path.name == "inductor") chosen = &item;
  }
  return chosen;
}

/// Why there is no script where several instances are selected.
Error several(const std::vector<Instance>& instances) {
  constexpr std::size_t kShown = 5;
  std::string message = fmt::format("found {} instances, expected one:", instances.size());
  for (std::size_t i = 0; i < std::min(kShown, instances.size()); ++i)
    message += "\n      " + instances[i].id;
  if (instances.size() > kShown) message += "\n      ...";
  return {message,
          "a script is of one: name it; `ci/lockstep list` prints all that a SELECT takes"};
}

/// The policies that the case asks for on the path, by the judge's names of what is compared; of
/// everything else the path's promise decides.
Json policies(const Case& declared, const Path& path) {
  std::vector<std::string> names = declared.program.outputs;
  for (const std::string& name : declared.program.inputs) {
    names.push_back("input " + name);
    names.push_back("grad " + name);
  }
  Json result = Json::object();
  for (const std::string& name : names) {
    if (const auto own = policy_for(declared, name, path.name)) result[name] = to_string(*own);
  }
  return result;
}

std::string_view name_of(StrideRule rule) {
  switch (rule) {
    case StrideRule::significant:
      return "significant";
    case StrideRule::exact:
      return "exact";
    case StrideRule::ignore:
      return "ignore";
  }
  return "significant";
}

/// What `python -m lockstep_worker repro` reads.
Result<Json> request_of(const Plan& plan, const PlanItem& item, const Options& options,
                        const fs::path& scratch) {
  const Instance& instance = plan.instances[item.instance];
  const Case& declared = *instance.declared;
  const Path& path = plan.paths[item.path];
  std::error_code error;
  fs::create_directory(scratch / "inputs", error);
  auto inputs = write_inputs(declared, scratch / "inputs", nullptr);
  if (!inputs) return tl::unexpected(inputs.error());
  Json request = {{"id", item.id},
                  {"title", declared.title},
                  {"links", declared.links},
                  {"path", path.declared},
                  {"device", instance.device},
                  {"seed", declared.seed},
                  {"threads", options.threads},
                  {"program", inputs->wire_program()},
                  {"storages", inputs->storages},
                  {"calls", inputs->calls},
                  {"policies", policies(declared, path)},
                  {"strides", item.declared.strides.empty() ? name_of(declared.strides) : "ignore"},
                  {"raises", nullptr},
                  {"repeat", SchedulerOptions().repeat},
                  {"libraries", Json::array()},
                  {"prepare", nullptr}};
  if (declared.raises) {
    request["raises"] = {{"class", declared.raises->class_name}, {"match", declared.raises->match}};
  }
  for (const fs::path& library : options.libraries)
    request["libraries"].push_back(library.string());
  if (declared.prepare) {
    fs::create_directory(scratch / "prepare", error);
    auto made = write_prepare_inputs(*declared.prepare, scratch / "prepare");
    if (!made) return tl::unexpected(made.error());
    request["prepare"] = {{"program", made->wire_program()},
                          {"storages", made->storages},
                          {"calls", made->calls},
                          {"seed", declared.prepare->seed},
                          {"requires_grad", declared.prepare->requires_grad}};
  }
  return request;
}

/// The script, as the Python worker renders it.
Result<std::string> render(const Json& request, const Options& options, const fs::path& scratch) {
  const fs::path input = scratch / "request.json";
  const fs::path output = scratch / "repro.py";
  const fs::path log = scratch / "stderr";
  std::ofstream(input) << request.dump(-1, ' ', false, Json::error_handler_t::replace);
  const fs::path modules = compiled_worker_modules(session_settings(options));
  const char* const path = std::getenv("PYTHONPATH");
  const std::string rest = path == nullptr || *path == '\0' ? "" : fmt::format(":{}", path);
  const auto done = run_to_end({{options.python, "-W", "ignore", "-m", "lockstep_worker", "repro"},
                                {{"PYTHONPATH", modules.string() + rest}},
                                input,
                                output,
                                log});
  if (!done) {
    return fail("the Python worker cannot render it: " + done.error().message,
                "LOCKSTEP_PYTHON chooses the Python; it needs torch");
  }
  return read_file(output);
}

}  // namespace

Exit command_repro(const Options& options) {
  auto session = open_session(options);
  if (!session) return session.error();
  if (session->operators() == nullptr) {
    print_error({"there is no dump of the operator schemas beside this binary",
                 "`ci/lockstep` builds it; a build without torch has none"});
    return Exit::internal;
  }
  auto selected = selection(options, *session);
  if (!selected) return selected.error();
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  Diagnostics diagnostics;
  const Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (plan.items.empty()) return nothing_selected(request);
  if (plan.instances.size() > 1) {
    print_error(several(plan.instances));
    return Exit::usage;
  }
  const PlanItem* item = choose(plan);
  if (item == nullptr) {
    print_error({fmt::format("`{}` is not compiled by the Python worker", plan.items[0].id),
                 "name a path of torch.compile: " + plan.instances[0].id + "/inductor"});
    return Exit::usage;
  }
  if (const Case& declared = *plan.instances[item->instance].declared; !declared.lacking.empty()) {
    print_error({fmt::format("this torch lacks {}", declared.lacking), ""});
    return Exit::usage;
  }
  auto scratch = Scratch::create();
  auto script =
      scratch
          ? request_of(plan, *item, options, scratch->path()).and_then([&](const Json& message) {
              return render(message, options, scratch->path());
            })
          : Result<std::string>(tl::unexpected(scratch.error()));
  if (!script) {
    print_error(script.error());
    return Exit::internal;
  }
  if (options.out.empty()) {
    fmt::print("{}", *script);
    return Exit::ok;
  }
  if (!(std::ofstream(options.out, std::ios::binary | std::ios::trunc) << *script).flush()) {
    print_error({fmt::format("cannot write {}", options.out.string()), ""});
    return Exit::internal;
  }
  fmt::print(stderr, "{}: python {}\n", item->id, shell_quote(options.out.string()));
  return Exit::ok;
}

}  // namespace lockstep
