#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

// Torch's enumerations in Python's words and back.  A word that this torch does not know throws
// Unsupported: an older release lacks it, which is no failure.
namespace lockstep::eager {

/// "float32", "float8_e4m3fn", "quint8".
std::string dtype_name(c10::ScalarType type);
c10::ScalarType parse_dtype(const std::string& name);

/// Every dtype of this torch, in the order of its enumeration.
std::vector<c10::ScalarType> all_dtypes();

/// "strided", "sparse_coo", "jagged".
std::string layout_name(c10::Layout layout);
c10::Layout parse_layout(const std::string& name);

/// "contiguous_format", "channels_last"; both `channels_last` and `torch.channels_last` are read.
std::string memory_format_name(c10::MemoryFormat format);
c10::MemoryFormat parse_memory_format(const std::string& name);

/// "cpu", "cuda:0".
c10::Device parse_device(const std::string& name);

}  // namespace lockstep::eager
