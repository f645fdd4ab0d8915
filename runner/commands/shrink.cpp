#include "shrink/shrink.h"

#include <fmt/format.h>

#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "cases/write.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/reproducer.h"
#include "engine/scratch.h"
#include "requests/one_verdict.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// What a file says of an instance's case, so that it is read back as it is, and beside it the
/// files that it names, first: the case is never there without them.
Result<void> write_case(const fs::path& file, const std::string& text,
                        const std::map<std::string, FileFill>& beside) {
  std::error_code error;
  if (fs::exists(file, error))
    return fail(fmt::format("there is {} already", file.string()), "give it another name");
  std::map<std::string, std::shared_ptr<const std::string>> values;
  for (const auto& [name, each] : beside) values[name] = each.bytes;
  return write_values(file.parent_path(), values).and_then([&] { return write_file(file, text); });
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

/// The file that remembers the results of candidates from earlier searches; empty: none.
fs::path journal_of(const ShrinkOptions& options, const ShrinkRequest& request) {
  if (options.basis.no_cache) return {};
  std::error_code error;
  const fs::path folder = options.basis.at.cache / "shrink";
  fs::create_directories(folder, error);
  return folder / (Digest().add(request.id).add(request.torch).hex() + ".txt");
}

ShrinkRequest request_of(const ShrinkOptions& options, const OneVerdict& asked) {
  const PlanItem& item = asked.item();
  ShrinkRequest request;
  request.id = item.id;
  request.declared = asked.plan.instances[item.instance].declared;
  request.path = asked.plan.paths[item.path];
  request.registry = asked.session->operators();
  request.python = asked.session->python_operators();
  request.same_operators = options.same_operators;
  request.allow_drift = options.allow_drift;
  request.torch = asked.session->environment().dump();
  request.on_smaller = [](const Case& smaller) {
    fmt::print(stderr, "{} steps, {} elements\n", step_count(smaller.program),
               grouped(static_cast<std::uint64_t>(element_count(smaller))));
  };
  return request;
}

void tell_of(const Shrunk& shrunk, const std::string& id, const Case& before) {
  fmt::print(
      stderr, "{} {} steps became {}, {} elements {}; {} candidates{}{}\n", id,
      step_count(before.program), step_count(shrunk.declared.program),
      grouped(static_cast<std::uint64_t>(element_count(before))),
      grouped(static_cast<std::uint64_t>(element_count(shrunk.declared))), shrunk.candidates,
      shrunk.remembered > 0 ? fmt::format(", {} remembered from before", shrunk.remembered) : "",
      shrunk.complete ? "" : "; time ran out: the same command continues from here");
  print_people(stderr, fmt::format("{}: {}\n", info(shrunk.verdict.found.status).label,
                                   shrunk.verdict.found.reason));
}

/// Prints the case, or writes it, and then its script.
Exit write_shrunk(const Shrunk& shrunk, const OneVerdict& asked, const fs::path& out) {
  const std::string text = case_text(shrunk.declared);
  const Registry* registry = asked.session->operators();
  if (auto faults = faults_of(shrunk.declared, text, registry, asked.session->python_operators());
      !faults.empty()) {
    print_diagnostics(faults);
    print_error({"no file can hold the smallest case", "run the case as it was"});
    return Exit::internal;
  }
  const auto beside = files_of(shrunk.declared);
  if (out.empty()) {
    fmt::print("{}", text);
    if (!beside.empty())
      print_people(stderr,
                   fmt::format("its files of values are those in {}\n",
                               (beside.begin()->second.place.folder / kValuesFolder).string()));
  } else if (auto written = write_case(out, text, beside); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  const Plan plan = plan_of_one(shrunk.declared, asked.plan.paths[asked.item().path],
                                asked.plan.instances[asked.item().instance].device);
  auto scratch = Scratch::create();
  auto scripts =
      scratch ? brief_scripts_of(plan, {&plan.items[0]}, asked.session->settings(), scratch->path())
              : tl::unexpected(scratch.error());
  const Result<std::string> script =
      scripts ? std::move(scripts->front()) : tl::unexpected(scripts.error());
  // If no script can express it, the case remains.
  if (script)
    fmt::print("{}{}", out.empty() ? "\n" : "", *script);
  else
    print_people(stderr, fmt::format("no script: {}\n", script.error().message));
  return Exit::failures;
}

}  // namespace

Exit command_shrink(const ShrinkOptions& options) {
  watch_for_interrupts();
  const fs::path out = options.out.empty() ? fs::path() : options.basis.at.directory / options.out;
  std::error_code error;
  if (!out.empty() && fs::exists(out, error)) {
    print_error({fmt::format("there is {} already", out.string()), "give it another name"});
    return Exit::usage;
  }
  auto asked = prepare_one(options.basis, "what is shrunk is one");
  if (!asked) return tell(asked.error());
  Session& session = *asked->session;
  const Instance& instance = asked->plan.instances[asked->item().instance];
  Trials trials(session.engine(), session.workplace(), instance.device,
                deadline_in(options.seconds));
  const ShrinkRequest request = request_of(options, *asked);
  Journal journal(journal_of(options, request));
  const Shrunk shrunk = shrink(request, trials, journal);
  if (interrupted()) return Exit::interrupted;
  if (!shrunk.diverges) {
    fmt::print(stderr, "{}: {}: there is nothing to shrink\n", request.id,
               info(shrunk.first.found.status).label);
    return Exit::ok;
  }
  tell_of(shrunk, request.id, *instance.declared);
  return write_shrunk(shrunk, *asked, out);
}

}  // namespace lockstep
