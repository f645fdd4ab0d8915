#include "base/reading_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>
#include <string_view>

namespace lockstep {
namespace {

constexpr const char* kVariable = "LOCKSTEP_READING_MIB";
constexpr std::size_t kMib = 1 << 20, kDefault = 512;

ReadingMemory* holding = nullptr;  ///< what is in force in this process

/// Lets go of the limit before it throws: what is given up on the way may have to allocate, as the
/// destructor of JSON does, and must not fail.
void give_up() {
  if (holding != nullptr) holding->lift();
  std::set_new_handler(nullptr);
  throw std::bad_alloc();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kWatched = true;
#elif defined(__has_feature)
constexpr bool kWatched = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kWatched = false;
#endif

}  // namespace

std::size_t reading_memory() {
  const char* said = std::getenv(kVariable);
  const std::string_view text = said == nullptr ? "" : said;
  std::size_t mib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mib);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return (is_number && mib > 0 && mib < (std::size_t{1} << 40) ? mib : kDefault) * kMib;
}

ReadingMemory::ReadingMemory() {
  if (kWatched || ::getrlimit(RLIMIT_DATA, &before_) != 0) return;
  rlimit limit = before_;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, reading_memory());
  holds_ = ::setrlimit(RLIMIT_DATA, &limit) == 0;
  if (!holds_) return;
  holding = this;
  std::set_new_handler(give_up);
}

void ReadingMemory::lift() {
  if (!holds_) return;
  ::setrlimit(RLIMIT_DATA, &before_);
  holds_ = false;
  holding = nullptr;
  std::set_new_handler(nullptr);
}

Error ReadingMemory::exceeded() {
  return {fmt::format("this takes more than {} MiB of memory, the most that reading may take",
                      reading_memory() / kMib),
          fmt::format("where you know whose file it is, {}={} lets it take more", kVariable,
                      4 * reading_memory() / kMib)};
}

}  // namespace lockstep
