#include "paths/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/files.h"
#include "base/reader.h"
#include "base/text.h"
#include "paths/reaching.h"
#include "paths/variants.h"
#include "verdict/kinds.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The backends that come with torch and compute with nothing but torch.
constexpr std::array kTorchsOwn = std::to_array<std::string_view>(
    {"eager", "eager_noexcept", "eager_debug", "pre_dispatch_eager", "aot_eager",
     "aot_eager_default_partitioner", "aot_eager_decomp_partition",
     "aot_eager_decomp_partition_crossref", "aot_eager_decomp_partition_with_mode", "aot_ts", "ts",
     "cudagraphs", "inductor", "invoke_subgraph"});

bool is_torchs_own(std::string_view backend) {
  return backend.ends_with("_TESTING_ONLY") ||
         std::find(kTorchsOwn.begin(), kTorchsOwn.end(), backend) != kTorchsOwn.end();
}

/// A name has no dot: what follows one is the name of a variant (variants.h).
bool valid_path_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  return !name.empty() && name.size() <= 60 &&
         name.find_first_not_of(kLetters) == std::string_view::npos && name.front() != '-' &&
         name.front() != '_';
}

/// Who executes what is compiled with a backend: torch's operators, Inductor's code, or, where the
/// backend is not torch's, code of its own.
std::string_view executes_by_default(std::string_view backend) {
  if (backend == "inductor") return "inductor";
  return is_torchs_own(backend) ? "aten" : "own";
}

/// `export`: what is done with the program that torch.export makes, in the place of torch.compile.
/// What it is, or empty.
std::string decode_export(Reader& reader, const Node& root) {
  const auto node = reader.child(root, "export");
  if (!node || (*node)->is_null()) return "";
  const auto word =
      reader.word(*node, {"eager", "aot_inductor"}, "`eager`, `aot_inductor` or null");
  if (!word) return "";
  for (const char* key : {"backend", "mode", "options", "fullgraph"}) {
    const auto other = reader.child(root, key);
    if (other && !(*other)->is_null())
      reader.error(other->pointer,
                   fmt::format("found `{}` beside `export`: that is torch.compile's", key),
                   "a path goes through torch.export or through torch.compile: remove one", true);
  }
  if (const auto worker = reader.child(root, "worker"); worker && **worker != "compiled") {
    reader.error(worker->pointer, "found another worker beside `export`",
                 "`compiled` is the worker that exports programs", false);
  }
  return *word;
}

/// Which eager the path is compared with.
Site decode_reference(Reader& reader, const Node& reference) {
  Site site;
  if (!reader.object(reference, {"device"})) return site;
  if (const auto device = reader.child(reference, "device")) {
    site.device = reader.text(*device, "a device, such as \"cpu\"").value_or("");
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_:";
    if ((*device)->is_string() &&
        (site.device.empty() || site.device.find_first_not_of(kLetters) != std::string::npos))
      reader.mismatch(*device, "a device, such as `cpu` or `cuda:0`");
  }
  return site;
}

/// The `options` of torch.compile; which of them there are, torch knows.
void check_options(Reader& reader, const Node& root, const Node& options) {
  if (!options->is_object()) {
    reader.mismatch(options, "an object of values by name, or null");
    return;
  }
  for (const auto& [name, value] : options->items()) {
    if (value.is_structured())
      reader.mismatch({&value, child_pointer(options.pointer, name)},
                      "a string, a number, true, false or null");
  }
  if (const auto mode = reader.child(root, "mode"); mode && !(*mode)->is_null()) {
    reader.error(options.pointer, "found `options` beside `mode`: torch.compile takes one of them",
                 "write what the mode stands for into `options`, or remove one", true);
  }
}

/// Which worker executes it, or the command that starts one.
void decode_worker(Reader& reader, const Node& root, Path& path) {
  if (const auto worker = reader.required(root, "worker", "`eager`, `compiled` or a command")) {
    if ((*worker)->is_array()) {
      path.command = reader.texts(*worker, "a command: a list of strings");
      if (path.command.empty()) reader.mismatch(*worker, "a command: a list of strings");
    } else {
      path.worker =
          reader.word(*worker, {"eager", "compiled"}, "`eager`, `compiled` or a list of strings")
              .value_or("");
    }
  }
}

/// What torch.compile takes; but for `dynamic`, only the worker reads it.
void decode_compilation(Reader& reader, const Node& root, Path& path) {
  const auto text_or_null = [&](std::string_view key) {
    const auto node = reader.child(root, key);
    if (node && !(*node)->is_null()) reader.text(*node, "a string or null");
  };
  text_or_null("backend");
  text_or_null("mode");
  if (const auto options = reader.child(root, "options"); options && !(*options)->is_null())
    check_options(reader, root, *options);
  if (const auto dynamic = reader.child(root, "dynamic"); dynamic && !(*dynamic)->is_null())
    path.dynamic = reader.boolean(*dynamic);
  if (const auto fullgraph = reader.child(root, "fullgraph")) reader.boolean(*fullgraph);
  if (const auto modules = reader.child(root, "import"))
    reader.texts(*modules, "a list of Python modules");
  if (const auto config = reader.child(root, "config")) {
    if ((*config)->is_object())
      check_config_reaches(reader, *config);
    else
      reader.mismatch(*config, "an object of values by dotted name");
  }
}

void decode_environment(Reader& reader, const Node& variables, Path& path) {
  if (!variables->is_object()) {
    reader.mismatch(variables, "an object of strings by name");
    return;
  }
  for (const auto& [name, value] : variables->items()) {
    const Node node{&value, child_pointer(variables.pointer, name)};
    if (name.empty() || name.find('=') != std::string::npos)
      reader.error(node.pointer, "found no name of an environment variable", "", true);
    if (const auto text = reader.text(node)) {
      check_variable_reaches(reader, node, name, *text);
      path.environment.emplace_back(name, *text);
    }
  }
}

/// The relations that the path keeps.
void decode_keeps(Reader& reader, const Node& root, Path& path) {
  const auto keeps = reader.child(root, "keeps");
  if (!keeps || !reader.list(*keeps, "a list of relations")) return;
  for (std::size_t i = 0; i < (*keeps)->size(); ++i) {
    const auto name = reader.word(reader.element(*keeps, i), relation_names(), "a relation");
    if (name) path.keeps.push_back(*name);
  }
}

}  // namespace

std::optional<Path> decode_path(const JsonFile& file, Diagnostics& diagnostics) {
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(
          root, {"$schema",  "format",      "name",       "title",       "contract",  "default",
                 "worker",   "backend",     "mode",       "dynamic",     "fullgraph", "import",
                 "config",   "environment", "devices",    "unsupported", "refuses",   "executes",
                 "may_call", "above",       "options",    "export",      "reference", "variants",
                 "layer",    "fall_back",   "tolerances", "keeps"})) {
    return std::nullopt;
  }
  Path path;
  path.declared = file.root;
  path.file = std::make_shared<const JsonFile>(file);
  reader.format(root, kPathFormat);
  if (const auto name = reader.required(root, "name", "as in ids and filters")) {
    path.name = reader.text(*name).value_or("");
    if ((*name)->is_string() && !valid_path_name(path.name))
      reader.mismatch(*name,
                      "a name of lower-case letters, digits, `_` and `-`; a dot is followed by a "
                      "variant's name");
  }
  if (const auto title = reader.required(root, "title", "one line for reports"))
    path.title = reader.text(*title).value_or("");
  if (const auto contract =
          reader.required(root, "contract", "what the path claims of its results")) {
    const auto word = reader.word(*contract, contract_names(), "`bits`, `casts` or `values`");
    if (word) path.contract = *find_contract(*word);
  }
  if (const auto flag = reader.child(root, "default"))
    path.is_default = reader.boolean(*flag).value_or(false);
  decode_worker(reader, root, path);
  decode_compilation(reader, root, path);
  if (const auto variables = reader.child(root, "environment"))
    decode_environment(reader, *variables, path);
  path.devices = {"*"};
  if (const auto devices = reader.child(root, "devices"))
    path.devices = reader.texts(*devices, "a list of globs");
  if (const auto reference = reader.child(root, "reference"))
    path.reference = decode_reference(reader, *reference);
  if (const auto operators = reader.child(root, "may_call"))
    reader.texts(*operators, "a list of globs of operators, such as \"aten::topk\"");
  const std::string exported = decode_export(reader, root);
  path.packages = exported == "aot_inductor";
  path.compiles = path.worker != "eager" &&
                  (!exported.empty() || !file.root.value("backend", Json()).is_null());
  const Json backend = file.root.value("backend", Json());
  const bool torchs_backend = path.command.empty() && (!path.compiles || !backend.is_string() ||
                                                       is_torchs_own(backend.get<std::string>()));
  path.torchs_own = torchs_backend && file.root.value("import", Json::array()).empty();
  if (const auto executes = reader.child(root, "executes")) {
    const auto word =
        reader.word(*executes, {"own", "inductor", "aten"}, "`own`, `inductor` or `aten`");
    if (word == "aten" && !torchs_backend)
      reader.mismatch(*executes,
                      "`own` or `inductor`: what torch's operators execute is not this backend's");
  }
  const Json config = file.root.value("config", Json::object());
  path.own_random =
      config.is_object() && config.value("torch._inductor.config.fallback_random", Json()) == false;
  // Any backend of Dynamo gets the program that the backend `eager` executes.
  path.above = path.compiles && !torchs_backend ? "eager" : "";
  if (const auto above = reader.child(root, "above"))
    path.above = (*above)->is_null() ? "" : reader.text(*above).value_or("");
  if (const auto operators = reader.child(root, "fall_back"))
    reader.texts(*operators, "a list of overloads, such as \"aten::exp.default\"");
  decode_keeps(reader, root, path);
  if (const auto layer = reader.child(root, "layer"))
    path.layer = reader.text(*layer, "what this path adds to the one below it").value_or("");
  path.declarations = decode_declarations(reader, root);
  if (reader.failed()) return std::nullopt;
  if (path.compiles && !path.declared.contains("executes"))
    path.declared["executes"] = path.packages ? "inductor"
                                : !exported.empty()
                                    ? "aten"
                                    : executes_by_default(backend.get<std::string>());
  path.declared["above"] = path.above.empty() ? Json() : Json(path.above);
  return path;
}

std::map<std::string, std::string> above_of(const std::vector<Path>& paths) {
  std::map<std::string, std::string> above;
  for (const Path& path : paths) above[path.name] = path.above;
  return above;
}

std::vector<std::string> down_from(std::string path,
                                   const std::map<std::string, std::string>& above) {
  std::vector<std::string> way;
  while (!path.empty() && !contains(way, path)) {
    way.push_back(path);
    const auto below = above.find(path);
    path = below == above.end() ? "" : below->second;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

void check_ladder(const std::vector<Path>& paths, Diagnostics& diagnostics) {
  std::map<std::string, const Path*> by_name;
  std::vector<std::string> names;
  for (const Path& path : paths) {
    by_name[path.name] = &path;
    names.push_back(path.name);
  }
  const auto wrong = [&](const Path& path, const std::string& message, std::string hint) {
    // If it is the default, there is no such key to point at.
    if (!path.file->root.contains("above")) return;
    Reader(*path.file, diagnostics).error("/above", message, std::move(hint));
  };
  for (const Path& path : paths) {
    if (path.above.empty() || !path.base.empty()) continue;
    if (!by_name.contains(path.above)) {
      if (const std::string near = nearest(path.above, names); !near.empty())
        wrong(path,
              fmt::format("found `{}`, expected the name of a path", one_line(path.above, 60)),
              fmt::format("did you mean `{}`?", near));
      continue;
    }
    const Path* below = &path;
    for (std::size_t steps = 0; below != nullptr && steps <= paths.size(); ++steps) {
      const auto next = by_name.find(below->above);
      below = next == by_name.end() ? nullptr : next->second;
    }
    if (below != nullptr)
      wrong(path, fmt::format("found `{}`, which leads back to this path", path.above),
            "the lowest layer is above none: null");
  }
}

void add_paths(Path path, std::vector<Path>& paths, Diagnostics& diagnostics) {
  std::vector<Path> all = decode_variants(path, diagnostics);
  all.insert(all.begin(), std::move(path));
  for (Path& each : all) {
    const bool taken = std::any_of(paths.begin(), paths.end(),
                                   [&](const Path& other) { return other.name == each.name; });
    if (taken) {
      diagnostics.push_back({each.file->name, 1, 1, "/name",
                             fmt::format("there is another path `{}` already", each.name),
                             "give it another name"});
      if (each.base.empty()) return;
    } else {
      paths.push_back(std::move(each));
    }
  }
}

std::vector<Path> read_paths(const fs::path& folder, const std::vector<fs::path>& more,
                             const std::vector<fs::path>& added, Diagnostics& diagnostics) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (error)
    diagnostics.push_back(
        {folder.string(), 0, 0, "", "cannot read the folder of paths: " + error.message(), ""});
  std::sort(files.begin(), files.end());
  files.insert(files.end(), more.begin(), more.end());
  files.insert(files.end(), added.begin(), added.end());

  std::vector<Path> paths;
  for (const fs::path& name : files) {
    const auto file = read_json(name, name.string(), diagnostics);
    if (!file) continue;
    auto path = decode_path(*file, diagnostics);
    if (!path) continue;
    path->added = std::find(added.begin(), added.end(), name) != added.end();
    add_paths(std::move(*path), paths, diagnostics);
  }
  std::sort(paths.begin(), paths.end(),
            [](const Path& a, const Path& b) { return a.name < b.name; });
  check_ladder(paths, diagnostics);
  return paths;
}

}  // namespace lockstep
