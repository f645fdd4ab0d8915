#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

/// Whether it is spelled like a level: which of them there are, torch and the machine decide.
bool is_cpu_level(std::string_view word);

/// The environment in which a process computes at a level: of torch's own kernels, and, on x86, of
/// oneDNN's and MKL's, which choose for themselves.  A variable that these do not know is none to
/// them.
std::vector<std::pair<std::string, std::string>> environment_of_cpu_level(std::string_view level);

/// The width of the vectors, in bits, with which Inductor generates C++ for a level
/// (`torch._inductor.config.cpp.simdlen`; 0: element by element); nothing where Inductor goes by
/// the environment alone.
std::optional<int> vector_bits_of_cpu_level(std::string_view level);

}  // namespace lockstep
