#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/cuda.h"
#include "base/json.h"

namespace lockstep {

/// What identifies the machine and the process, for the record. Of the machine: CPU model,
/// instruction set level, cores, memory, kernel, host name, CUDA's devices or why there are none.
/// Of the process: the digest of the binary, and the environment variables that change what torch
/// computes, what Inductor compiles, or which torch is found. `cuda_runtime` as in CudaLibraries
/// (base/cuda.h).
Json machine_environment(const std::filesystem::path& cuda_runtime = {});

/// The part of it about CUDA: "cuda" has the versions, or why there is no device, "cuda:0" what a
/// device is.
void add_cuda(Json& machine, const CudaInventory& found);

/// Ends the name of what is different each time: "cuda:0 free".
constexpr std::string_view kFreeMemory = " free";

/// Digest of a file's bytes, 128 bits in hexadecimal; empty where it cannot be read.
std::string file_digest(const std::filesystem::path& file);

/// Digest of the names and bytes of the files with that extension in a folder and its folders;
/// empty where there are none.
std::string folder_digest(const std::filesystem::path& folder, std::string_view extension);

/// UTC, "2026-11-21T10:00:00Z".
std::string utc_now();

/// Bytes of memory that the machine has.
std::int64_t physical_memory();

}  // namespace lockstep
