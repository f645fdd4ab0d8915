#include "program/program.h"

namespace lockstep {

bool WithBlock::operator==(const WithBlock& other) const {
  return context == other.context && steps == other.steps;
}

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos &&
         !(text.front() >= '0' && text.front() <= '9');
}

}  // namespace lockstep
