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

bool is_prim(std::string_view name) { return name.starts_with("prims::"); }

}  // namespace lockstep
