#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/one_item.h"
#include "commands/open.h"
#include "commands/reproducer.h"
#include "commands/selection.h"
#include "engine/scratch.h"

namespace lockstep {

Exit command_repro(const Options& options) {
  auto session = open_session(options);
  if (!session) return session.error();
  if (const auto had = need_operators(*session); !had) return had.error();
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
    print_error(several(plan.instances, "a script is of one"));
    return Exit::usage;
  }
  const PlanItem* item = compiled_item(plan);
  if (item == nullptr) {
    print_error({fmt::format("`{}` is not compiled by the Python worker", plan.items[0].id),
                 "name a path of torch.compile: " + plan.instances[0].id + "/inductor"});
    return Exit::usage;
  }
  if (const Path& path = plan.paths[item->path];
      !path.reference.device.empty() &&
      path.reference.device != plan.instances[item->instance].device) {
    print_error({fmt::format("`{}` is compared with eager on {}, and a script compares on one "
                             "device",
                             item->id, path.reference.device),
                 "a path file without `reference` compares with eager on the same device"});
    return Exit::usage;
  }
  if (const Case& declared = *plan.instances[item->instance].declared;
      !declared.newer_lockstep.empty()) {
    print_error({fmt::format("the case needs Lockstep {}, this is {}", declared.newer_lockstep,
                             LOCKSTEP_VERSION),
                 ""});
    return Exit::usage;
  }
  if (const Case& declared = *plan.instances[item->instance].declared; !declared.lacking.empty()) {
    print_error({fmt::format("this torch lacks {}", declared.lacking), ""});
    return Exit::usage;
  }
  auto scratch = Scratch::create();
  auto script = scratch ? script_of(plan, *item, options, scratch->path())
                        : Result<std::string>(tl::unexpected(scratch.error()));
  if (!script) {
    print_error(script.error());
    return Exit::internal;
  }
  if (!write_answer(options.out, *script)) return Exit::internal;
  if (!options.out.empty())
    fmt::print(stderr, "{}: python {}\n", item->id, shell_quote(options.out.string()));
  return Exit::ok;
}

}  // namespace lockstep
