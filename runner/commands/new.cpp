#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "cases/sweep.h"
#include "cases/write.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "requests/open.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIssues = "https://github.com/pytorch/pytorch/issues/";
constexpr std::string_view kToDo = "TODO: one line that says what must be the same";

/// What NUMBER means: the name of the file, and the address of the report.
struct Report {
  std::string name, link;
};

/// "185337", "185337-half-round-trip", or an address that ends with a number.
Result<Report> report_of(const std::string& text) {
  const std::string last = text.substr(text.rfind('/') + 1);
  const std::string number = last.substr(0, last.find_first_not_of("0123456789"));
  const bool address = text.starts_with("https://");
  const bool fits = !number.empty() && (address ? last == number : last == text) &&
                    (last.size() == number.size() || last[number.size()] == '-');
  if (!fits)
    return fail(fmt::format("found `{}`, expected the number of a report of PyTorch's, with or "
                            "without a name, or its address",
                            one_line(text)),
                fmt::format("185337, 185337-half-round-trip, {}185337", kIssues));
  return Report{last, address ? text : std::string(kIssues) + number};
}

/// What is common to every new case.
Json beginning(const Report& report, bool in_suite) {
  Json root = Json::object();
  if (in_suite) root["$schema"] = "../schema/case.schema.json";
  root["format"] = 1;
  root["title"] = kToDo;
  root["links"] = {report.link};
  return root;
}

Json example_input() {
  return {{"dtype", "float32"},
          {"shape", {2, 3}},
          {"fill", {{"arange", {{"start", -1}, {"divide", 2}}}}}};
}

/// The overload that a name means, if a case may call it.
Result<std::pair<const Operator*, const Overload*>> overload_of(const std::string& name,
                                                                const Registry& registry) {
  const std::string bare = name.starts_with("aten::") ? name.substr(6) : name;
  const Operator* op = registry.find("aten::" + bare.substr(0, bare.find('.')));
  const Overload* overload = registry.find_overload(bare);
  if (op == nullptr || overload == nullptr) {
    std::vector<std::string> known = registry.names();
    for (const Overload& each : op == nullptr ? std::vector<Overload>() : op->overloads)
      known.push_back(short_name(*op, each));
    return fail(fmt::format("torch {} has no operator `{}`", registry.torch(), one_line(name)),
                suggestion(bare, known));
  }
  if (const std::string why = refusal(*op, *overload); !why.empty())
    return fail(fmt::format("no case may call {}: {}", short_name(*op, *overload), why));
  return std::pair(op, overload);
}

/// Twice the same tensor in each list of tensors: a list of one would say little.
void fill_lists(const Overload& overload, Json& step) {
  for (std::size_t i = 0; i < overload.arguments.size(); ++i) {
    const Argument& argument = overload.arguments[i];
    if (!argument.is_tensor() || argument.type.find('[') == std::string::npos) continue;
    for (Json* value :
         {i < step["args"].size() ? &step["args"][i] : nullptr,
          step["kwargs"].contains(argument.name) ? &step["kwargs"][argument.name] : nullptr}) {
      if (value != nullptr) *value = {*value, *value};
    }
  }
}

/// One call of an operator, each of its tensors an input, what else it needs by its type.
Result<Json> calling(Json root, const std::string& name, const Registry& registry) {
  const auto found = overload_of(name, registry);
  if (!found) return tl::unexpected(found.error());
  const auto& [op, overload] = *found;
  Sweep sweep;
  sweep.op = short_name(*op, *overload);
  sweep.given = {{"Scalar", 2},        {"float", 0.5},  {"int", 1},
                 {"SymInt", 1},        {"bool", true},  {"int[]", {0}},
                 {"SymInt[]", {2, 3}}, {"str", "none"}, {"ScalarType", "float32"}};
  Json inputs = Json::object();
  for (const Argument& argument : overload->arguments) {
    if (argument.has_default) continue;
    if (argument.is_tensor()) {
      const std::string input =
          sweep.inputs.empty() ? "x" : fmt::format("x{}", sweep.inputs.size());
      sweep.inputs.push_back(input);
      inputs[input] = example_input();
    } else if (!sweep.given.contains(argument.type)) {
      return fail(fmt::format("{} needs `{}` of type {}, which has no example here", sweep.op,
                              argument.name, argument.type),
                  "leave --op out, and write the call yourself: docs/cases/write.md");
    }
  }
  root["inputs"] = inputs;
  root.update(swept_program(sweep, overload));
  Json& step = root["steps"][0];
  fill_lists(*overload, step);
  if (step["kwargs"].empty()) step.erase("kwargs");
  return root;
}

/// What a case begins with, and the case that it is taken from, if any.
struct Beginning {
  Json root;
  const CaseFile* from = nullptr;
};

/// The program of another case, for which nothing else is taken over.
Result<Beginning> like(Json root, const std::string& id, const std::vector<CaseFile>& suite) {
  const auto found =
      std::find_if(suite.begin(), suite.end(), [&](const CaseFile& file) { return file.id == id; });
  if (found == suite.end()) {
    std::vector<std::string> ids;
    for (const CaseFile& file : suite) ids.push_back(file.id);
    return fail(fmt::format("there is no case `{}`", one_line(id)), suggestion(id, ids));
  }
  for (const auto& [key, value] : found->file.root.items()) {
    if (key != "$schema" && key != "title" && key != "links" && key != "tags" &&
        key != "unverified")
      root[key] = value;
  }
  return Beginning{std::move(root), &*found};
}

/// What is wrong with a case file's text, as `check` says it, beside the files of values of the
/// case that it is like.
Diagnostics faults_of(const std::string& name, const std::string& text, const CaseFile* from,
                      const Session& session) {
  Diagnostics diagnostics;
  std::vector<CaseFile> files;
  JsonFile file{name, text, {}};
  if (from != nullptr) file.place = from->file.place;
  files.push_back(parse_case_file(std::move(file), diagnostics));
  if (!diagnostics.empty()) return diagnostics;
  expand_sweeps(files, session.operators());
  check_instances(files.front(), session.operators(), diagnostics, session.python_operators());
  return diagnostics;
}

/// What the case begins with: another one's program, or a call.
Result<Beginning> program_of(const NewOptions& options, const Session& session, Json root) {
  if (!options.like.empty()) return like(std::move(root), options.like, session.suite().cases);
  if (const Registry* registry = session.operators()) {
    return calling(std::move(root), options.op.empty() ? "add.Tensor" : options.op, *registry)
        .map([](Json called) { return Beginning{std::move(called)}; });
  }
  // What every torch has.
  root["inputs"] = {{"x", example_input()}};
  root["steps"] = {{{"let", "y"}, {"op", "add.Tensor"}, {"args", {"%x", "%x"}}}};
  root["outputs"] = {"y"};
  return Beginning{std::move(root)};
}

/// Writes it where nothing is yet; its files of values first, so that it is never there without.
Answer<void> write_new(const fs::path& file, const std::string& shown, const std::string& text,
                       const CaseFile* from) {
  std::error_code error;
  if (fs::exists(file, error))
    return refuse(Exit::usage,
                  {fmt::format("there is {} already", shown), "give it another name: NUMBER-NAME"});
  fs::create_directories(file.parent_path(), error);
  if (from != nullptr) {
    const auto copied = values_of(*from).and_then(
        [&](const auto& values) { return write_values(file.parent_path(), values); });
    if (!copied) return refuse(Exit::internal, copied.error());
  }
  if (auto done = write_file(file, text); !done) return refuse(Exit::internal, done.error());
  return {};
}

}  // namespace

Exit command_new(const NewOptions& options) {
  const auto report = report_of(options.report);
  if (!report) return tell({Exit::usage, {report.error()}});
  auto session = open_session(options.basis, options.op.empty() ? Torch::if_there : Torch::needed);
  if (!session) return tell(session.error());
  if (!options.op.empty()) {
    if (auto needed = need_operators(*session); !needed) return tell(needed.error());
  }
  const Surroundings& at = options.basis.at;
  const bool in_suite = options.out.empty();
  const fs::path file = in_suite ? at.suite / "cases" / "bugs" / (report->name + ".json")
                                 : at.directory / options.out;
  const auto begun =
      program_of(options, *session, beginning(*report, in_suite && at.suite == at.home));
  if (!begun) return tell({Exit::usage, {begun.error()}});
  const std::string text = json_text(begun->root);
  const std::string shown = fs::absolute(file).lexically_normal().string();
  Diagnostics faults = faults_of(shown, text, begun->from, *session);
  if (!faults.empty()) return tell({Exit::usage, {}, std::move(faults)});
  if (auto written = write_new(file, shown, text, begun->from); !written)
    return tell(written.error());
  const std::string word = shell_quote(shown);
  fmt::print(
      "{}\nFill in its title, its inputs and its steps (docs/cases/write.md), then:\n"
      "    {} check {}\n    {} run {}\n",
      shown, at.launcher, word, at.launcher, word);
  return Exit::ok;
}

}  // namespace lockstep
