#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

/// The operators that modules of Python register.  Python is asked when somebody first needs to
/// know, since that takes seconds.  Threads may share it.
class PythonOperators {
 public:
  /// Gives the names that torch's dispatcher has for them: "mylib::op", "mylib::op.int".
  using Ask = std::function<Result<std::set<std::string>>()>;
  explicit PythonOperators(Ask ask) : ask_(std::move(ask)) {}

  /// Whether there is one of that name; "mylib::op" and "mylib::op.default" are the same.
  bool has(std::string_view name) const;
  /// All of them.
  const std::set<std::string>& names() const;
  /// Why Python could not tell; empty: it could.
  const std::string& failure() const;

 private:
  void learn() const;
  Ask ask_;
  mutable std::once_flag asked_;
  mutable std::set<std::string> names_;
  mutable std::string failure_;
};

/// Whether an operator of this name would be torch's own that is written in Python, which every
/// torch has and no C++: "prims::sin", "prims::sin.default".
bool is_prim(std::string_view name);

}  // namespace lockstep
