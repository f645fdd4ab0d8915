#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/value_files.h"
#include "cases/expand.h"
#include "cases/python_operators.h"
#include "cases/registry.h"
#include "cases/sweep.h"

namespace lockstep {

struct Case;

/// A case file, parsed and with its matrix taken apart, not yet decoded.
struct CaseFile {
  JsonFile file;
  std::string id;                     ///< "bugs/185337-half-round-trip"
  std::vector<MatrixChoice> choices;  ///< of a sweep before expand_sweeps: its matrix alone
  bool own = false;                   ///< of the user, not of the suite
};

/// All case files below `root/cases` in the order of their ids, but for the folders `schema` and
/// `invalid`.  What is wrong with a file is added to `diagnostics`, and that file is left out.
/// `values` reads what lies beside the cases, for what is read together from one.
Result<std::vector<CaseFile>> read_suite(
    const std::filesystem::path& root, Diagnostics& diagnostics,
    const std::shared_ptr<ValueFiles>& values = std::make_shared<ValueFiles>());

/// The case files that a user names besides: one file, or all `.json` below a folder, below its
/// folder `cases` where it has one, in the order of their ids.  A file's id is as read_case_file
/// gives it, in a folder the path there.
std::vector<CaseFile> read_own_cases(
    const std::filesystem::path& file_or_folder, Diagnostics& diagnostics,
    const std::shared_ptr<ValueFiles>& values = std::make_shared<ValueFiles>());

/// Expands the sweeps over the operators that their rules take of a registry, as the first key of
/// the matrix, `op`.  A sweep that is wrong or takes none keeps its matrix: decoding says why.
/// Without a registry sweeps have no choices, and so no instances.
void expand_sweeps(std::vector<CaseFile>& suite, const Registry* registry);

/// Decodes every instance of an expanded file, and says how many are good; their errors are the
/// file's.  A sweep without a registry has no instances, but its structure is checked.  `visit` is
/// given each that is good.
std::size_t check_instances(const CaseFile& file, const Registry* registry,
                            Diagnostics& diagnostics, const PythonOperators* python = nullptr,
                            const std::function<void(const Case&)>& visit = {});

/// What a file sweeps, for each choice of its matrix that is well-formed.
std::vector<Sweep> sweeps_of(const CaseFile& file);

/// The tags as the file has them, whether or not the rest of it can be decoded.
std::vector<std::string> raw_tags(const CaseFile& file);

/// The choices of a file's matrix alone, which reading it has checked.
std::vector<MatrixChoice> plain_choices(const CaseFile& file);

/// How ids name the choice of an operator beside one of the matrix: "[op=sin,dtype=float16]".
std::string swept_suffix(const std::string& op, const std::string& suffix);

/// The files of values beside a case file that any of its instances names, by their names.  Errors
/// as those of ValueFiles::read.
Result<std::map<std::string, std::shared_ptr<const std::string>>> values_of(const CaseFile& file);

/// Whether a file declares a sweep.
bool is_sweep(const CaseFile& file);

/// One case file from anywhere; its id is its path below a folder `cases`, if it has one, else its
/// name; or the one that is given.
CaseFile read_case_file(const std::filesystem::path& path, const std::string& shown,
                        Diagnostics& diagnostics, const std::string& id = {},
                        const std::shared_ptr<ValueFiles>& values = std::make_shared<ValueFiles>());

/// The same from a text that is already here; `file.root` need not be set.
CaseFile parse_case_file(JsonFile file, Diagnostics& diagnostics, const std::string& id = {});

}  // namespace lockstep
