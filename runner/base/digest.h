#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

/// Names contents: XXH3 of 128 bits, not a protection against forgery.
class Digest {
 public:
  Digest();
  ~Digest();
  /// Whoever adds several texts sees to it that their boundaries count.
  Digest& add(std::string_view bytes);
  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep
