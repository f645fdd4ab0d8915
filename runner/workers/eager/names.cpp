#include "workers/eager/names.h"

#include <c10/util/Exception.h>

#include <array>
#include <utility>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

template <class E, std::size_t N>
using Words = std::array<std::pair<E, const char*>, N>;

constexpr Words<c10::Layout, 8> kLayouts = {{{c10::Layout::Strided, "strided"},
                                             {c10::Layout::Sparse, "sparse_coo"},
                                             {c10::Layout::SparseCsr, "sparse_csr"},
                                             {c10::Layout::SparseCsc, "sparse_csc"},
                                             {c10::Layout::SparseBsr, "sparse_bsr"},
                                             {c10::Layout::SparseBsc, "sparse_bsc"},
                                             {c10::Layout::Mkldnn, "_mkldnn"},
                                             {c10::Layout::Jagged, "jagged"}}};

constexpr Words<c10::MemoryFormat, 4> kMemoryFormats = {
    {{c10::MemoryFormat::Contiguous, "contiguous_format"},
     {c10::MemoryFormat::Preserve, "preserve_format"},
     {c10::MemoryFormat::ChannelsLast, "channels_last"},
     {c10::MemoryFormat::ChannelsLast3d, "channels_last_3d"}}};

template <class E, std::size_t N>
std::string word(const Words<E, N>& words, E value) {
  for (const auto& [candidate, name] : words) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <class E, std::size_t N>
E parse(const Words<E, N>& words, const char* what, const std::string& name) {
  for (const auto& [value, candidate] : words) {
    if (candidate == name) return value;
  }
  throw Unsupported(std::string(what) + " " + name);
}

std::string without_torch(const std::string& name) {
  return name.starts_with("torch.") ? name.substr(6) : name;
}

}  // namespace

std::string dtype_name(c10::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

c10::ScalarType parse_dtype(const std::string& name) {
  const auto& known = c10::getStringToDtypeMap();
  const auto found = known.find(without_torch(name));
  if (found == known.end()) throw Unsupported("dtype " + name);
  return found->second;
}

std::vector<c10::ScalarType> all_dtypes() {
  std::vector<c10::ScalarType> types;
  // Undefined is the last before NumOptions in some releases and the first beyond in none.
  for (int i = 0; i < static_cast<int>(c10::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (type != c10::ScalarType::Undefined) types.push_back(type);
  }
  return types;
}

std::string layout_name(c10::Layout layout) { return word(kLayouts, layout); }

c10::Layout parse_layout(const std::string& name) {
  return parse(kLayouts, "layout", without_torch(name));
}

std::string memory_format_name(c10::MemoryFormat format) { return word(kMemoryFormats, format); }

c10::MemoryFormat parse_memory_format(const std::string& name) {
  return parse(kMemoryFormats, "memory_format", without_torch(name));
}

c10::Device parse_device(const std::string& name) {
  try {
    return c10::Device(name);
  } catch (const c10::Error&) {
    throw Unsupported("device " + name);
  }
}

}  // namespace lockstep::eager
