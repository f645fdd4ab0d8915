#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/process.h"

namespace lockstep {

// A resident worker has imported torch and compiled once, and waits at a socket. Whoever starts a
// worker gets a fork of it, which is what a new process would have become seconds later. It stands
// for processes alone that inherit what it has inherited: the name of its socket says what that is.

/// First words of command lines of this binary that are no commands: of a process that becomes a
/// worker, and of one that becomes the resident one.
inline constexpr std::string_view kAttach = "--attach", kReside = "--reside";

/// Python's module that is the worker. Words behind it are the worker's own.
inline constexpr std::string_view kModule = "lockstep_worker";

/// The word of a worker's own that makes it a resident one; behind it come the folder of compilers'
/// caches, the seconds without a worker after which it ends, and the file of its socket.
inline constexpr std::string_view kResident = "resident";

/// The command line of a worker that a resident one may stand in for; `folder` has the sockets.
/// Words of its own, which say what it is to do, may be put behind it.
std::vector<std::string> attaching(const std::filesystem::path& folder,
                                   const std::vector<std::string>& argv);

/// Whether there is a socket in `folder`, whoever listens there.
bool has_resident(const std::filesystem::path& folder);

/// The name of what this process would become by executing `argv`: of its environment but for
/// variables that every worker takes over as they are, its limits, its processors, its namespaces
/// and its control group. Words of the worker's own do not count.
std::string identity_of_worker(const std::vector<std::string>& argv);

/// `--attach FOLDER ARGV…`: becomes the worker. A resident one with its identity forks it, and this
/// process ends as it does; where none waits there, or its files are not what they were, `argv` is
/// executed. The exit status, if that cannot be done.
int attach(const std::vector<std::string>& words);

/// `--reside FOLDER ARGV…`: becomes a resident worker, with the socket as its standard input and
/// its file as one word more. It prints a line as soon as it waits. The exit status, if that cannot
/// be done; 0: there is one.
int reside(const std::vector<std::string>& words);

/// Starts a resident worker in the background, with what `command` adds to the environment, and
/// waits until it waits: true, and false where there was one.
Result<bool> start_resident(const std::filesystem::path& folder, const Command& command);

/// Ends all that listen in `folder`; how many these were. What they have forked goes on.
int stop_residents(const std::filesystem::path& folder);

}  // namespace lockstep
