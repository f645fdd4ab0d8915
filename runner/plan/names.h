#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/reader.h"
#include "cases/registry.h"
#include "cases/suite.h"
#include "paths/path.h"

namespace lockstep {

/// The names that cases, expectations and levels may use.  A misspelt one would match nothing
/// and say nothing: a case never runs, an expectation never holds.
struct ValidNames {
  std::vector<std::string> paths;    ///< empty: not known, and not checked
  std::vector<std::string> devices;  ///< kinds: "cuda", not "cuda:1"; empty: likewise
};

/// The paths, torch's kinds of devices, those of the torch at hand with what a `--library`
/// registers there, and those that a path file names in its `devices`.
ValidNames valid_names(const std::vector<Path>& paths, const Registry* registry = nullptr);

/// Adds an error, at a value or (with `key`) at its key, where a glob of paths has no wildcard and
/// names none.  A glob may mean paths that do not exist yet. What follows a `!` is checked in the
/// same way.
void check_path(Reader& reader, const ValidNames& names, const std::string& pointer,
                std::string_view glob, bool key = false);

/// The same for a glob of devices.
void check_device(Reader& reader, const ValidNames& names, const std::string& pointer,
                  std::string_view glob);

/// The same for all that a case says in `only` and `compare`, with every value of its matrix.
void check_names(const CaseFile& file, const ValidNames& names, Diagnostics& diagnostics);

/// The same for what a path declares not to support: devices, and, with a registry, globs of
/// operators that mean none of its torch, unless the entry is about other releases.  Public
/// functions, which no registry has, are taken as they are.
void check_declarations(const Path& path, const ValidNames& names, const Registry* registry,
                        Diagnostics& diagnostics);

}  // namespace lockstep
