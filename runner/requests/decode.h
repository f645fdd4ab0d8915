#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "requests/failure.h"
#include "requests/flags.h"
#include "requests/surroundings.h"

namespace lockstep {

/// The options of all subcommands, which write into `at`.
void add_common(CLI::App& app, Surroundings& at);

/// Reads words, without the program's name, into what the flags of a command line write to;
/// `choices` are those of its subcommands that select, by name.  Throws what CLI11 does.
void parse_words(CLI::App& app, const std::vector<std::string>& words,
                 const std::map<std::string, Choice*>& choices);

/// The words of a request, its subcommand first, that decode to it: what is as it is by default
/// goes unsaid.  Files are absolute as far as the request has them so.
std::vector<std::string> words_of(const RunRequest& request);
std::vector<std::string> words_of(const PackRequest& request);
std::vector<std::string> words_of(const ReplayRequest& request);
std::vector<std::string> words_of(const CertifyRequest& request);
std::vector<std::string> words_of(const VerifyRequest& request);

/// The same for any request: `now` and `fallback` have the same flags, in the same order.
std::vector<std::string> words_of(const std::string& command, const Basis& basis, const Flags& now,
                                  const Flags& fallback);

/// Each flag of a run that is not as by default, with its words.
std::vector<FlagWords> flags_of(const RunRequest& request);

/// The words with which a command finds the same cases and judges them in the same way, each with a
/// blank before it: ` --suite DIR --threads 2`.  Words of a shell.
std::string repeat_options(const Basis& basis);

/// The run that a log or a message names by its words and where they were given; nothing of it is
/// relative to where we are. What is no `run` is refused. `where` adds what the words do not say.
/// What it leaves empty comes from the environment.
Result<RunRequest> decode_run(const std::vector<std::string>& words, Surroundings where);
/// The same, with the environment of this process.
Result<RunRequest> decode_run(const std::vector<std::string>& words,
                              const std::filesystem::path& directory);

}  // namespace lockstep
