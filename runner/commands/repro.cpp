#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/value_files.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/reproducer.h"
#include "engine/scratch.h"
#include "record/log.h"
#include "requests/one_verdict.h"
#include "requests/open.h"
#include "requests/selection.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The item that a script is of, or why there is none.
Answer<const PlanItem*> scripted_item(const Plan& plan) {
  if (plan.instances.size() > 1)
    return refuse(Exit::usage, several(plan.instances, "a script is of one"));
  const Instance& instance = plan.instances[0];
  const PlanItem* item = compiled_item(plan);
  if (item == nullptr)
    return refuse(Exit::usage,
                  {fmt::format("`{}` is not compiled by the Python worker", plan.items[0].id),
                   "name a path of torch.compile: " + instance.id + "/inductor"});
  const std::string& device = plan.paths[item->path].reference.device;
  if (!device.empty() && device != instance.device)
    return refuse(
        Exit::usage,
        {fmt::format("`{}` is compared with eager on {}, and a script compares on one device",
                     item->id, device),
         "a path file without `reference` compares with eager on the same device"});
  const Case& declared = *instance.declared;
  if (!declared.newer_lockstep.empty())
    return refuse(Exit::usage, {fmt::format("the case needs Lockstep {}, this is {}",
                                            declared.newer_lockstep, LOCKSTEP_VERSION),
                                ""});
  if (!declared.lacking.empty())
    return refuse(Exit::usage, {fmt::format("this torch lacks {}", declared.lacking), ""});
  return item;
}

/// What the log of --from, or of the latest run, says of an item: nothing where it has none.
std::optional<Verdict> recorded_verdict(const Basis& basis, const std::string& id) {
  const auto& from = basis.choice.from;
  auto record = read_log(from.empty() ? basis.at.runs / "latest" : from);
  if (!record) return std::nullopt;
  for (Verdict& verdict : record->verdicts) {
    if (verdict.facts.id == id) return std::move(verdict);
  }
  return std::nullopt;
}

/// The script; where it goes to a file, the inputs that are too long for it lie beside that one.
Result<std::string> script_of(const ReproOptions& options, const Plan& plan, const PlanItem& item,
                              const SessionSettings& settings) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  if (!options.brief) {
    const auto recorded = recorded_verdict(options.basis, item.id);
    const fs::path beside = options.out.empty() ? fs::path() : scratch->path() / kValuesFolder;
    std::error_code error;
    if (!beside.empty()) fs::create_directory(beside, error);
    auto script =
        script_of(plan, item, settings, scratch->path(), beside, recorded ? &*recorded : nullptr);
    if (!script || beside.empty() || fs::is_empty(beside, error)) return script;
    const fs::path to = fs::absolute(options.out).parent_path() / kValuesFolder;
    fs::copy(beside, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
    if (error) return fail(fmt::format("cannot write {}: {}", to.string(), error.message()));
    return script;
  }
  auto scripts = brief_scripts_of(plan, {&item}, settings, scratch->path());
  return scripts ? std::move(scripts->front()) : tl::unexpected(scripts.error());
}

}  // namespace

Exit command_repro(const ReproOptions& options) {
  auto session = open_session(options.basis, Torch::needed);
  if (!session) return tell(session.error());
  if (const auto had = need_operators(*session); !had) return tell(had.error());
  auto selected = selection(options.basis, *session);
  if (!selected) return tell(selected.error());
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  const auto plan = plan_of(request);
  if (!plan) return tell(plan.error());
  const auto item = scripted_item(*plan);
  if (!item) return tell(item.error());
  const auto script = script_of(options, *plan, **item, session->settings());
  if (!script) {
    print_error(script.error());
    return Exit::internal;
  }
  if (!write_answer(options.out, *script)) return Exit::internal;
  if (!options.out.empty())
    fmt::print(stderr, "{}: python {}\n", (*item)->id, shell_quote(options.out.string()));
  return Exit::ok;
}

}  // namespace lockstep
