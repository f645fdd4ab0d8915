#include "commands/reproducer.h"

#include <fmt/format.h>

#include <fstream>

#include "base/files.h"
#include "base/spawn.h"
#include "cases/inputs.h"
#include "paths/policy_of_case.h"
#include "plan/level.h"
#include "policies/policy.h"
#include "reports/words.h"
#include "run/python_worker.h"
#include "run/scheduler.h"
#include "run/workers.h"
#include "verdict/fault.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The policies of the case on the path, by the judge's names of outputs. For everything else the
/// path's contract decides.
Json policies(const Case& declared, const Path& path) {
  std::vector<std::string> names = output_names(declared.program);
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

/// How the inputs of a case are made, where a program makes them.
Result<Json> prepare_of(const Case& declared, const fs::path& scratch) {
  if (!declared.prepare) return Json();
  std::error_code error;
  fs::create_directory(scratch / "prepare", error);
  auto made = write_prepare_inputs(*declared.prepare, scratch / "prepare");
  if (!made) return tl::unexpected(made.error());
  return Json{{"program", made->wire_program()},
              {"storages", made->storages},
              {"calls", made->calls},
              {"seed", declared.prepare->seed},
              {"requires_grad", declared.prepare->requires_grad}};
}

/// 0: neither path nor case asks for a number of threads.
int threads_of(const Path& path, const Case& declared) {
  return path.site.threads > 0 ? path.site.threads : declared.threads;
}

/// What `python -m lockstep_worker repro` reads.
Result<Json> request_of(const Plan& plan, const PlanItem& item, const SessionSettings& settings,
                        const fs::path& scratch) {
  const Instance& instance = plan.instances[item.instance];
  const Case& declared = *instance.declared;
  const Path& path = plan.paths[item.path];
  std::error_code error;
  fs::create_directory(scratch / "inputs", error);
  auto inputs = write_inputs(declared, scratch / "inputs", nullptr);
  if (!inputs) return tl::unexpected(inputs.error());
  Json of_path = path.declared;
  const int threads = threads_of(path, declared);
  of_path["contract"] = name_of(item.declared.contract(path));
  Json request = {{"id", item.id},
                  {"title", declared.title},
                  {"links", declared.links},
                  {"path", of_path},
                  {"device", instance.device},
                  {"seed", declared.seed},
                  {"reseed", declared.random},
                  {"threads", threads > 0 ? threads : settings.pace.threads},
                  {"program", inputs->wire_program()},
                  {"storages", inputs->storages},
                  {"calls", inputs->calls},
                  {"policies", policies(declared, path)},
                  {"strides", item.declared.strides.empty() ? name_of(declared.strides) : "ignore"},
                  {"raises", nullptr},
                  {"repeat", SchedulerOptions().repeat + (declared.random ? 1 : 0)},
                  {"libraries", Json::array()},
                  {"modules", settings.files.modules},
                  {"prepare", nullptr}};
  if (declared.raises) {
    request["raises"] = {{"class", declared.raises->class_name}, {"match", declared.raises->match}};
  }
  for (const fs::path& library : settings.files.libraries)
    request["libraries"].push_back(library.string());
  auto prepare = prepare_of(declared, scratch);
  if (!prepare) return tl::unexpected(prepare.error());
  request["prepare"] = std::move(*prepare);
  return request;
}

/// What a script tells the recorded divergence by: kind, output and magnitude. Null if nothing was
/// judged. Of an error the class is the name.
Json divergence(const Verdict& verdict) {
  const Findings& found = verdict.found;
  if (!info(found.status).judged()) return {};
  Json recorded = {{"status", std::string(info(found.status).name)},
                   {"name", ""},
                   {"|\u0394|", nullptr},
                   {"ulp", nullptr}};
  if (found.compiled_error) recorded["name"] = found.compiled_error->class_name;
  if (found.differences.empty()) return recorded;
  if (!found.differences.front().name.empty()) recorded["name"] = found.differences.front().name;
  if (const auto* output = comparison_of(verdict, found.differences.front().name, 0)) {
    if (output->max_abs) recorded["|\u0394|"] = *output->max_abs;
    if (output->max_ulp) recorded["ulp"] = *output->max_ulp;
  }
  return recorded;
}

/// What the Python worker renders of a message.
Result<std::string> render(const Json& request, const SessionSettings& settings,
                           const fs::path& scratch) {
  const fs::path input = scratch / "request.json";
  const fs::path output = scratch / "repro.py";
  const fs::path log = scratch / "stderr";
  std::ofstream(input) << request.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto done =
      run_to_end(questioning(compiled_or_resident(settings), "repro", input, output, log));
  if (!done) {
    return fail("the Python worker cannot render it: " + done.error().message,
                "set LOCKSTEP_PYTHON to a Python that has torch");
  }
  return read_file(output);
}

}  // namespace

Result<std::string> script_of(const Plan& plan, const PlanItem& item,
                              const SessionSettings& settings, const fs::path& scratch,
                              const fs::path& beside, const Verdict* recorded) {
  return request_of(plan, item, settings, scratch).and_then([&](Json message) {
    message["words"] = words_document();
    if (!beside.empty()) message["beside"] = beside.string();
    message["recorded"] = recorded == nullptr ? Json() : divergence(*recorded);
    return render(message, settings, scratch);
  });
}

Result<std::vector<Result<std::string>>> brief_scripts_of(const Plan& plan,
                                                          const std::vector<const PlanItem*>& items,
                                                          const SessionSettings& settings,
                                                          const fs::path& scratch) {
  Json requests = Json::array();
  for (const PlanItem* item : items) {
    const fs::path folder = scratch / std::to_string(requests.size());
    std::error_code error;
    fs::create_directory(folder, error);
    auto request = request_of(plan, *item, settings, folder);
    if (!request) return tl::unexpected(request.error());
    // Whoever starts a brief script has torch's own default, which is more than one, too.
    if (settings.pace.threads == kThreads &&
        threads_of(plan.paths[item->path], *plan.instances[item->instance].declared) == 0)
      request->erase("threads");
    requests.push_back(std::move(*request));
  }
  const auto text = render({{"brief", std::move(requests)}}, settings, scratch);
  if (!text) return tl::unexpected(text.error());
  std::vector<Result<std::string>> scripts;
  for (const Json& each : Json::parse(*text)) {  // what our own worker wrote
    if (each.is_string())
      scripts.emplace_back(each.get<std::string>());
    else
      scripts.emplace_back(fail(each.at("unsupported").get<std::string>(),
                                "leave --brief out: the whole script has it"));
  }
  return scripts;
}

}  // namespace lockstep
