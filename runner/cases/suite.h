#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cases/expand.h"

namespace lockstep {

/// A case file, parsed and with its matrix taken apart, not yet decoded.
struct CaseFile {
  JsonFile file;
  std::string id;  ///< "bugs/185337-half-round-trip"
  std::vector<MatrixChoice> choices;
};

/// All case files below `root/cases` in the order of their ids, but for the folders `schema` and
/// `invalid`.  What is wrong with a file is added to `diagnostics`, and that file is left out.
Result<std::vector<CaseFile>> read_suite(const std::filesystem::path& root,
                                         Diagnostics& diagnostics);

/// One case file from anywhere; its id is its path below a folder `cases`, if it has one, else its
/// name.
CaseFile read_case_file(const std::filesystem::path& path, const std::string& shown,
                        Diagnostics& diagnostics);

/// The same from a text that is already here; `file.root` need not be set.
CaseFile parse_case_file(JsonFile file, Diagnostics& diagnostics);

}  // namespace lockstep
