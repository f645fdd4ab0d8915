#include "cases/python_operators.h"

namespace lockstep {

bool PythonOperators::has(std::string_view name) const {
  learn();
  constexpr std::string_view kDefault = ".default";
  if (name.ends_with(kDefault)) name.remove_suffix(kDefault.size());
  return names_.contains(std::string(name));
}

const std::set<std::string>& PythonOperators::names() const {
  learn();
  return names_;
}

const std::string& PythonOperators::failure() const {
  learn();
  return failure_;
}

void PythonOperators::learn() const {
  std::call_once(asked_, [this] {
    auto names = ask_();
    if (names)
      names_ = std::move(*names);
    else
      failure_ = names.error().message;
  });
}

bool is_prim(std::string_view name) {
  constexpr std::string_view kSpace = "prims::";
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const auto is_word = [&](std::string_view text) {
    return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos &&
           text.find_first_of("0123456789") != 0;
  };
  if (!name.starts_with(kSpace)) return false;
  name.remove_prefix(kSpace.size());
  const std::size_t dot = name.find('.');
  return is_word(name.substr(0, dot)) &&
         (dot == std::string_view::npos || is_word(name.substr(dot + 1)));
}

}  // namespace lockstep
