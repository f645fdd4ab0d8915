#include "shrink/shrink.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "cases/write.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/one_item.h"
#include "commands/reproducer.h"
#include "engine/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// What a file says of an instance's case, so that it is read back as it is.
Result<void> write_case(const fs::path& file, const std::string& text) {
  std::error_code error;
  if (fs::exists(file, error))
    return fail(fmt::format("there is {} already", file.string()), "give it another name");
  return write_file(file, text);
}

/// A plan of one verdict, of a case that is in no suite.
Plan plan_of_one(const Case& declared, const Path& path, const std::string& device) {
  Plan plan;
  plan.paths = {path};
  plan.devices = {device};
  const std::string id = "shrunk@" + device;
  plan.instances.push_back({id, device, std::make_shared<const Case>(declared), 1, 0});
  plan.items.push_back({0, 0, id + "/" + path.name});
  return plan;
}

}  // namespace

Exit command_shrink(const Options& options) {
  watch_for_interrupts();
  const fs::path out = options.out.empty() ? fs::path() : options.directory / options.out;
  std::error_code error;
  if (!out.empty() && fs::exists(out, error)) {
    print_error({fmt::format("there is {} already", out.string()), "give it another name"});
    return Exit::usage;
  }
  auto asked = one_verdict(options, "what is shrunk is one");
  if (!asked) return asked.error();
  Session& session = asked->session;
  const PlanItem& item = asked->item();
  const Instance& instance = asked->plan.instances[item.instance];
  const Path& path = asked->plan.paths[item.path];
  Trials trials(session.engine(), session.workplace(), instance.device, deadline_of(options));
  ShrinkRequest request;
  request.id = item.id;
  request.declared = instance.declared;
  request.path = path;
  request.registry = session.operators();
  request.same_operators = options.same_operators;
  request.torch = session.environment().dump();
  request.on_smaller = [&](const Case& smaller) {
    fmt::print(stderr, "{} steps, {} elements\n", step_count(smaller.program),
               grouped(static_cast<std::uint64_t>(element_count(smaller))));
  };
  fs::path journal_file;
  if (!options.no_cache) {
    const fs::path folder = options.cache / "shrink";
    fs::create_directories(folder, error);
    journal_file = folder / (Digest().add(item.id).add(request.torch).hex() + ".txt");
  }
  Journal journal(journal_file);
  const Shrunk shrunk = shrink(request, trials, journal);
  if (interrupted()) return Exit::interrupted;
  if (!shrunk.departs) {
    fmt::print(stderr, "{}: {}: there is nothing to shrink\n", item.id,
               info(shrunk.first.status).label);
    return Exit::ok;
  }
  const std::string text = case_text(shrunk.declared);
  fmt::print(stderr, "{} {} steps became {}, {} elements {}; {} candidates{}{}\n", item.id,
             step_count(instance.declared->program), step_count(shrunk.declared.program),
             grouped(static_cast<std::uint64_t>(element_count(*instance.declared))),
             grouped(static_cast<std::uint64_t>(element_count(shrunk.declared))), shrunk.candidates,
             shrunk.known > 0 ? fmt::format(", {} known from before", shrunk.known) : "",
             shrunk.complete ? "" : "; time ran out: the same command goes on from here");
  fmt::print(stderr, "{}: {}\n", info(shrunk.verdict.status).label, shrunk.verdict.reason);
  if (auto faults = faults_of(text, session.operators()); !faults.empty()) {
    print_diagnostics(faults);
    print_error({"the smallest case is none that a file can say", "the case as it was can be run"});
    return Exit::internal;
  }
  if (out.empty()) {
    fmt::print("{}", text);
  } else if (auto written = write_case(out, text); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  const Plan plan = plan_of_one(shrunk.declared, path, instance.device);
  auto scratch = Scratch::create();
  Options brief = options;
  brief.brief = true;
  auto script = scratch ? script_of(plan, plan.items[0], brief, scratch->path())
                        : Result<std::string>(tl::unexpected(scratch.error()));
  // Of what no script can say the case remains.
  if (script)
    fmt::print("{}{}", out.empty() ? "\n" : "", *script);
  else
    fmt::print(stderr, "no script: {}\n", script.error().message);
  return Exit::failures;
}

}  // namespace lockstep
