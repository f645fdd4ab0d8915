#pragma once

#include <filesystem>

#include "base/result.h"
#include "cases/case.h"
#include "wire/observation.h"

namespace lockstep {

/// The inputs of an instance as files, in the spelling of the worker protocol.
struct InputSet {
  Json storages = Json::array();
  Json calls = Json::array();
  Json program;
};

/// Writes every storage of the case's inputs and literal tensors to `directory`, which exists.
/// `prepared` is the observation of the case's `prepare` steps, null if it has none: its outputs
/// become inputs of every call.
Result<InputSet> write_inputs(const Case& declared, const std::filesystem::path& directory,
                              const Observation* prepared);

/// The same for the `prepare` steps themselves.
Result<InputSet> write_prepare_inputs(const PrepareSpec& prepare,
                                      const std::filesystem::path& directory);

/// What the files of an InputSet in `directory` hold, as the judge reads it: the values of each
/// call before it.
Result<Inputs> read_inputs(const std::filesystem::path& directory, const InputSet& set);

}  // namespace lockstep
