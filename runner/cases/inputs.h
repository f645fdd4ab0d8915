#pragma once

#include <filesystem>

#include "base/result.h"
#include "cases/case.h"
#include "program/program_json.h"
#include "wire/observation.h"

namespace lockstep {

/// A program with its inputs as files.
struct InputSet {
  Json storages = Json::array();  ///< as in a run message
  Json calls = Json::array();     ///< as in a run message
  Program program;
  Json literals = Json::array();  ///< views of the program's literal tensors

  /// `program` of a run message.
  Json wire_program() const { return program_to_json(program, literals); }
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
