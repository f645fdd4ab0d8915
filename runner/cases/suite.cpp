#include "cases/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// No case needs more, and what decoding costs is bounded by it.
constexpr std::size_t kMostBytesOfACase = 1 << 20;
/// The whole file is decoded for every choice of its matrix.
constexpr std::size_t kMostBytesDecoded = 32 << 20;
/// Each is expanded over hundreds of operators.
constexpr std::size_t kMostSweepChoices = 100;
constexpr std::size_t kMostListed = 10'000;
/// Characters of a call in an id.
constexpr std::size_t kMostOfACall = 120;

std::string id_of(const std::string& shown) {
  std::string id = shown;
  if (const std::size_t folder = id.rfind("cases/");
      folder != std::string::npos && (folder == 0 || id[folder - 1] == '/')) {
    id = id.substr(folder + 6);
  } else {
    id = fs::path(id).filename().string();
  }
  return id.substr(0, id.rfind(".json"));
}

/// What a sweep's matrix may not have.
void check_sweep_matrix(Reader& reader, const CaseFile& file) {
  if (const auto matrix = reader.child({&file.file.root, ""}, "matrix");
      matrix && (*matrix)->contains("op")) {
    reader.error("/matrix/op", "found `op`, which is the operator that the sweep chooses",
                 "another name", true);
  }
  if (file.choices.size() > kMostSweepChoices) {
    reader.error("/matrix", fmt::format("found a matrix of {} choices beside `sweep`, expected at "
                                        "most {}: each is made for every operator",
                                        file.choices.size(), kMostSweepChoices));
  }
}

/// The sweep with one choice of its matrix; nothing if it is wrong, which decoding reports.
std::optional<Sweep> sweep_of(const CaseFile& file, const MatrixChoice& choice) {
  std::vector<std::string> unknown;
  const Json root = substitute(file.file.root, choice, "cpu", unknown);
  Diagnostics ignored;
  Reader reader(file.file, ignored);
  return decode_sweep(reader, {&root, ""});
}

/// Whether a file has a sweep that lists its calls: then it needs no registry to be expanded.
bool lists_calls(const CaseFile& file) {
  if (!is_sweep(file)) return false;
  const Json& sweep = file.file.root["sweep"];
  return sweep.is_object() && sweep.contains("calls") && sweep["calls"].is_array();
}

/// Whether a choice has no backward, or its call takes an input that requires a gradient: a list
/// holds calls that have none, too.
bool has_gradient(const CaseFile& file, const MatrixChoice& choice) {
  if (!file.file.root.contains("backward")) return true;
  std::vector<std::string> unknown;
  const Json root = substitute(file.file.root, choice, "cpu", unknown);
  if (!root.contains("backward") || root["backward"].is_null()) return true;
  if (!root.contains("inputs") || !root["inputs"].is_object()) return true;
  const std::set<std::string> names = referred_names(root["sweep"]["calls"]);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto input = root["inputs"].find(name);
    return input != root["inputs"].end() && input->is_object() &&
           input->value("requires_grad", Json()) == true;
  });
}

/// Each call of the list with each choice of the matrix; calls turn faster. Decoding reports what
/// is no call.
void expand_calls(Reader& reader, CaseFile& file) {
  std::vector<MatrixChoice> choices;
  std::set<std::string> texts;
  const Json& calls = file.file.root["sweep"]["calls"];
  if (const auto matrix = reader.child({&file.file.root, ""}, "matrix");
      matrix && (*matrix)->contains("call")) {
    reader.error("/matrix/call", "found `call`, which is the call that the sweep chooses",
                 "another name", true);
  }
  if (calls.size() * file.choices.size() > kMostListed) {
    reader.error("/sweep/calls",
                 fmt::format("found {} calls with {} choices of the matrix, expected at most {} "
                             "instances of a file",
                             calls.size(), file.choices.size(), kMostListed));
    return;
  }
  std::vector<std::pair<int, std::string>> named;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].is_array() || calls[i].empty() || !calls[i][0].is_string()) continue;
    const std::string text = call_text(calls[i]);
    if (!texts.insert(text).second) {
      reader.error(fmt::format("/sweep/calls/{}", i),
                   fmt::format("found the call {} for the second time", one_line(text, 100)));
    } else if (!fits_id(text, kMostOfACall)) {
      reader.error(fmt::format("/sweep/calls/{}", i),
                   fmt::format("found the call {}, expected one that an id has room for: {} "
                               "characters, none of them / @ * ? or \\",
                               one_line(text, 100), kMostOfACall),
                   "a long argument can be a choice of the matrix");
    } else {
      named.emplace_back(static_cast<int>(i), text);
    }
  }
  // Neighbours are compiled in one graph, where all or none have a backward: a choice of the
  // matrix for all calls, then the next.
  for (const MatrixChoice& choice : file.choices) {
    for (const auto& [place, text] : named) {
      MatrixChoice chosen = choice;
      chosen.call = place;
      chosen.suffix = choice.suffix.empty()
                          ? fmt::format("[call={}]", text)
                          : fmt::format("[call={},{}", text, choice.suffix.substr(1));
      if (has_gradient(file, chosen)) choices.push_back(std::move(chosen));
    }
  }
  // Without a call that can be made one choice remains, so that decoding tells what is wrong.
  if (!choices.empty()) file.choices = std::move(choices);
}

/// The names of files of values in a document, which are where tensors have `file`.
void collect_values(const Json& json, std::set<std::string>& names) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured()) collect_values(value, names);
    if (key != "file" || !value.is_string()) continue;
    if (const auto name = value.get<std::string>(); names_values(name)) names.insert(name);
  }
}

/// A part that begins with a dash would be an option where an id is typed as it is printed.
bool has_dash(const std::string& id) {
  return id.starts_with('-') || id.find("/-") != std::string::npos;
}

bool fits_case_id(const std::string& id) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-";
  return !id.empty() && id.find_first_not_of(kLetters) == std::string::npos;
}

}  // namespace

CaseFile read_case_file(const fs::path& path, const std::string& shown, Diagnostics& diagnostics,
                        const std::string& id, const std::shared_ptr<ValueFiles>& values) {
  auto text = read_file(path);
  if (!text) {
    diagnostics.push_back({shown, 0, 0, "", text.error().message, text.error().hint});
    return {{shown, "", {}}, id.empty() ? id_of(shown) : id, {}};
  }
  return parse_case_file({shown, std::move(*text), {}, ValuePlace{path.parent_path(), values}},
                         diagnostics, id);
}

CaseFile parse_case_file(JsonFile file, Diagnostics& diagnostics, const std::string& id) {
  const std::string shown = file.name;
  CaseFile result{std::move(file), id.empty() ? id_of(shown) : id, {}};
  if (!fits_case_id(result.id)) {
    diagnostics.push_back(
        {shown, 0, 0, "",
         "the name of a case file is its id: letters, digits, `_`, `.` and `-` only",
         "rename the file"});
  } else if (has_dash(result.id)) {
    diagnostics.push_back(
        {shown, 0, 0, "",
         fmt::format("found the id `{}`, expected no name in it that begins with `-`: on a command "
                     "line it would be an option",
                     result.id),
         "rename the file"});
  }
  if (result.file.text.size() > kMostBytesOfACase) {
    diagnostics.push_back({shown, 0, 0, "",
                           fmt::format("found a file of {} bytes, expected at most {}",
                                       result.file.text.size(), kMostBytesOfACase),
                           "a fill makes large tensors of few characters"});
    return result;
  }
  const std::size_t before = diagnostics.size();
  parse_json(result.file, diagnostics);
  if (diagnostics.size() > before) return result;
  Reader reader(result.file, diagnostics);
  if (!result.file.root.is_object()) {
    reader.mismatch({&result.file.root, ""}, "an object: a case");
    return result;
  }
  if (!newer_lockstep(result.file.root).empty()) {
    result.choices.emplace_back();  // one instance stands for all that this Lockstep cannot read
    return result;
  }
  result.choices = matrix_choices(reader, result.file.root);
  if (lists_calls(result)) {
    expand_calls(reader, result);
  } else if (is_sweep(result)) {
    check_sweep_matrix(reader, result);
  }
  if (reader.failed()) return result;
  if (result.choices.size() > kMostBytesDecoded / result.file.text.size()) {
    reader.error("/matrix", fmt::format("found a matrix of {} choices in a file of {} bytes, "
                                        "expected at most {} choices",
                                        result.choices.size(), result.file.text.size(),
                                        kMostBytesDecoded / result.file.text.size()));
    result.choices.clear();
    return result;
  }
  if (!result.choices.empty()) {
    std::vector<std::string> unknown;
    substitute(result.file.root, result.choices.front(), "cpu", unknown);
    for (const std::string& pointer : unknown) {
      const std::string found = result.file.root.at(Json::json_pointer(pointer)).get<std::string>();
      std::vector<std::string> known = {"device"};
      for (const auto& [key, value] : result.choices.front().values) known.push_back(key);
      std::string hint = suggestion(found.substr(1), known);
      if (!hint.empty()) hint += "; ";
      hint += fmt::format("the string `{0}` itself is written \"${0}\"", one_line(found, 60));
      reader.error(
          pointer,
          fmt::format("found `{}`, which the matrix does not explain", one_line(found, 60)), hint);
    }
  }
  return result;
}

std::vector<std::string> raw_tags(const CaseFile& file) {
  std::vector<std::string> tags;
  const auto found = file.file.root.find("tags");
  if (found == file.file.root.end() || !found->is_array()) return tags;
  for (const Json& tag : *found) {
    if (tag.is_string()) tags.push_back(tag.get<std::string>());
  }
  return tags;
}

std::vector<MatrixChoice> plain_choices(const CaseFile& file) {
  Diagnostics none;
  Reader reader(file.file, none);
  return matrix_choices(reader, file.file.root);
}

std::string swept_suffix(const std::string& op, const std::string& suffix) {
  return suffix.empty() ? fmt::format("[op={}]", op)
                        : fmt::format("[op={},{}", op, suffix.substr(1));
}

Result<std::map<std::string, std::shared_ptr<const std::string>>> values_of(const CaseFile& file) {
  std::set<std::string> names;
  for (const MatrixChoice& choice : file.choices) {
    std::vector<std::string> unknown;
    collect_values(substitute(file.file.root, choice, "cpu", unknown), names);
  }
  std::map<std::string, std::shared_ptr<const std::string>> files;
  for (const std::string& name : names) {
    const auto& place = file.file.place;
    auto bytes = place ? place->files->read(place->folder, name)
                       : fail(fmt::format("{} lies nowhere", file.file.name));
    if (!bytes) return tl::unexpected(bytes.error());
    files[name] = std::move(*bytes);
  }
  return files;
}

bool is_sweep(const CaseFile& file) {
  return file.file.root.contains("sweep") && newer_lockstep(file.file.root).empty();
}

std::size_t check_instances(const CaseFile& file, const Registry* registry,
                            Diagnostics& diagnostics, const PythonOperators* python,
                            const std::function<void(const Case&)>& visit) {
  std::size_t instances = 0;
  for (const MatrixChoice& choice : file.choices) {
    std::vector<std::string> unknown;
    const Json root = substitute(file.file.root, choice, "cpu", unknown);
    // A case for another torch may use what this one lacks.
    const bool foreign =
        registry != nullptr && root.contains(Json::json_pointer("/requires/torch"));
    const auto declared =
        decode_case(file.file, root, file.id, {registry, "cpu", foreign, python}, diagnostics);
    if (!declared) continue;
    ++instances;
    if (visit) visit(*declared);
  }
  return registry == nullptr && is_sweep(file) && !lists_calls(file) ? 0 : instances;
}

std::vector<Sweep> sweeps_of(const CaseFile& file) {
  std::vector<Sweep> sweeps;
  if (lists_calls(file)) {
    if (auto sweep = sweep_of(file, {})) sweeps.push_back(std::move(*sweep));
    return sweeps;
  }
  for (const MatrixChoice& choice : plain_choices(file)) {
    if (auto sweep = sweep_of(file, choice)) sweeps.push_back(std::move(*sweep));
  }
  return sweeps;
}

namespace {

/// The operators that a file's sweep takes, by all that decode_sweep reads of a choice of the
/// matrix: the rule and which inputs there are, which most choices leave as they are.
class TakenOperators {
 public:
  TakenOperators(const CaseFile& file, const Registry& registry)
      : file_(file), registry_(registry), read_(Json::object()) {
    for (const char* key : {"sweep", "inputs"}) {
      if (const auto found = file.file.root.find(key); found != file.file.root.end())
        read_[key] = *found;
    }
  }

  const std::vector<std::string>& with(const MatrixChoice& choice) {
    std::vector<std::string> unknown;
    const Json read = substitute(read_, choice, "cpu", unknown);
    std::string text = read["sweep"].dump();
    if (const auto inputs = read.find("inputs"); inputs != read.end() && inputs->is_object()) {
      for (const auto& [name, value] : inputs->items()) {
        text += "\n" + name;
        if (!value.is_object()) continue;
        for (const auto& [key, _] : value.items()) text += " " + key;
      }
    }
    const auto [found, is_new] = known_.try_emplace(std::move(text));
    if (is_new) {
      if (const auto sweep = sweep_of(file_, choice))
        found->second = swept_operators(*sweep, registry_);
    }
    return found->second;
  }

 private:
  const CaseFile& file_;
  const Registry& registry_;
  Json read_;
  std::map<std::string, std::vector<std::string>> known_;
};

/// Expands a sweep over the operators.
void expand_sweep(CaseFile& file, const Registry& registry) {
  std::map<std::string, std::vector<MatrixChoice>> by_operator;
  TakenOperators taken(file, registry);
  for (const MatrixChoice& choice : plain_choices(file)) {
    const std::vector<std::string>& operators = taken.with(choice);
    if (operators.empty()) by_operator[""].push_back(choice);
    for (const std::string& op : operators) {
      MatrixChoice chosen = choice;
      chosen.op = op;
      chosen.suffix = swept_suffix(op, choice.suffix);
      by_operator[op].push_back(std::move(chosen));
    }
  }
  file.choices.clear();
  for (auto& [op, choices] : by_operator)
    file.choices.insert(file.choices.end(), choices.begin(), choices.end());
}

}  // namespace

void expand_sweeps(std::vector<CaseFile>& suite, const Registry* registry) {
  std::vector<CaseFile*> sweeps;
  for (CaseFile& file : suite) {
    if (is_sweep(file) && !lists_calls(file)) sweeps.push_back(&file);
  }
  in_parallel(sweeps.size(), 4, [&](std::size_t i) {
    if (registry == nullptr)
      sweeps[i]->choices.clear();
    else
      expand_sweep(*sweeps[i], *registry);
  });
}

namespace {

/// The case files below a folder `cases`: what is not hidden, schema or invalid.
std::vector<fs::path> case_paths(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() &&
        (name.starts_with('.') || (it.depth() == 0 && (name == "schema" || name == "invalid")))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && name.ends_with(".json") && !name.starts_with('.')) {
      paths.push_back(it->path());
    }
  }
  return paths;
}

void sort_by_id(std::vector<CaseFile>& files) {
  std::sort(files.begin(), files.end(),
            [](const CaseFile& a, const CaseFile& b) { return a.id < b.id; });
}

/// As people know it: relative to where they are, if it is below.
std::string shown_name(const fs::path& path) {
  std::error_code error;
  const std::string below = path.lexically_relative(fs::current_path(error)).generic_string();
  return error || below.empty() || below.starts_with("..") ? path.generic_string() : below;
}

/// A case file to read.
struct Wanted {
  fs::path path;
  std::string shown;
  std::string id;  ///< empty: as its name says
};

/// Reads files on all cores.  What is wrong is added in their order, whoever reads them, and such
/// files are left out.
std::vector<CaseFile> read_case_files(const std::vector<Wanted>& wanted, Diagnostics& diagnostics,
                                      const std::shared_ptr<ValueFiles>& values) {
  std::vector<CaseFile> read(wanted.size());
  std::vector<Diagnostics> wrong(wanted.size());
  in_parallel(wanted.size(), 32, [&](std::size_t i) {
    read[i] = read_case_file(wanted[i].path, wanted[i].shown, wrong[i], wanted[i].id, values);
  });
  std::vector<CaseFile> files;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wrong[i].empty()) files.push_back(std::move(read[i]));
    std::move(wrong[i].begin(), wrong[i].end(), std::back_inserter(diagnostics));
  }
  return files;
}

}  // namespace

std::vector<CaseFile> read_own_cases(const fs::path& file_or_folder, Diagnostics& diagnostics,
                                     const std::shared_ptr<ValueFiles>& values) {
  std::error_code error;
  const auto read = [&](const std::vector<Wanted>& wanted) {
    std::vector<CaseFile> files = read_case_files(wanted, diagnostics, values);
    for (CaseFile& file : files) file.own = true;
    return files;
  };
  if (!fs::is_directory(file_or_folder, error))
    return read(
        {{file_or_folder, shown_name(file_or_folder), id_of(file_or_folder.generic_string())}});
  if (fs::exists(file_or_folder / "run.jsonl", error)) {
    diagnostics.push_back({shown_name(file_or_folder), 0, 0, "",
                           "found the folder of a run, expected one of cases",
                           "`run status:failing --from DIR` runs what failed in it again"});
    return {};
  }
  fs::path folder = file_or_folder / "cases";
  if (!fs::is_directory(folder, error)) folder = file_or_folder;
  error.clear();
  const std::vector<fs::path> paths = case_paths(folder, error);
  std::vector<Wanted> wanted;
  for (const fs::path& path : paths) {
    const std::string name = path.lexically_relative(folder).generic_string();
    wanted.push_back({path, shown_name(path), name.substr(0, name.rfind(".json"))});
  }
  std::vector<CaseFile> files = read(wanted);
  if (error || paths.empty())
    diagnostics.push_back(
        {shown_name(file_or_folder), 0, 0, "",
         error ? "cannot read the folder: " + error.message()
               : "there is no case file below this folder",
         "a case file is called NAME.json; docs/cases/format.md says what it holds"});
  sort_by_id(files);
  return files;
}

Result<std::vector<CaseFile>> read_suite(const fs::path& root, Diagnostics& diagnostics,
                                         const std::shared_ptr<ValueFiles>& values) {
  const fs::path folder = root / "cases";
  std::error_code error;
  const std::vector<fs::path> paths = case_paths(folder, error);
  if (error) {
    return fail(
        fmt::format("cannot read the cases in {}: {}", folder.string(), error.message()),
        "the suite's folder is LOCKSTEP_HOME, or --suite DIR; it holds cases/, and where they are "
        "wanted expected/ and paths/");
  }
  std::vector<Wanted> wanted;
  for (const fs::path& path : paths)
    wanted.push_back({path, path.lexically_relative(root).generic_string(), {}});
  std::vector<CaseFile> files = read_case_files(wanted, diagnostics, values);
  sort_by_id(files);
  return files;
}

}  // namespace lockstep
