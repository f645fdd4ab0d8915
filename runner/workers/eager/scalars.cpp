#include "workers/eager/scalars.h"

#include <cmath>
#include <functional>
#include <unordered_map>
#include <variant>

#include "program/scalar_operators.h"
#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

/// A Python bool, int or float.
using Number = std::variant<bool, std::int64_t, double>;
using Operands = std::vector<Number>;

[[noreturn]] void zero_division(const char* message) {
  throw PythonError("ZeroDivisionError", message);
}

bool is_integral(const Number& value) { return !std::holds_alternative<double>(value); }

std::int64_t as_int(const Number& value) {
  return std::visit([](auto number) { return static_cast<std::int64_t>(number); }, value);
}

double as_float(const Number& value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

bool truth(const Number& value) {
  return std::visit([](auto number) { return number != decltype(number){}; }, value);
}

/// By reference: the overflow builtins fill `value` while the arguments are evaluated.
std::int64_t in_range(bool overflow, const std::int64_t& value) {
  if (overflow) throw Unsupported("a Python int beyond 64 bits");
  return value;
}

/// What int() makes of a float that is whole already.
Number to_int(double value) {
  if (std::isnan(value)) throw PythonError("ValueError", "cannot convert float NaN to integer");
  if (std::isinf(value)) {
    throw PythonError("OverflowError", "cannot convert float infinity to integer");
  }
  return in_range(value < -0x1p63 || value >= 0x1p63, static_cast<std::int64_t>(value));
}

Number add(const Number& a, const Number& b) {
  if (!is_integral(a) || !is_integral(b)) return as_float(a) + as_float(b);
  std::int64_t out = 0;
  return in_range(__builtin_add_overflow(as_int(a), as_int(b), &out), out);
}

Number sub(const Number& a, const Number& b) {
  if (!is_integral(a) || !is_integral(b)) return as_float(a) - as_float(b);
  std::int64_t out = 0;
  return in_range(__builtin_sub_overflow(as_int(a), as_int(b), &out), out);
}

Number mul(const Number& a, const Number& b) {
  if (!is_integral(a) || !is_integral(b)) return as_float(a) * as_float(b);
  std::int64_t out = 0;
  return in_range(__builtin_mul_overflow(as_int(a), as_int(b), &out), out);
}

Number div(const Number& a, const Number& b) {
  if (as_float(b) == 0) zero_division("division by zero");
  if (is_integral(a) && is_integral(b)) {
    // Python rounds the exact quotient once; a double holds ints up to 2^53 exactly.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    for (const std::int64_t value : {as_int(a), as_int(b)}) {
      if (value > kExact || value < -kExact) throw Unsupported("division of ints beyond 53 bits");
    }
  }
  return as_float(a) / as_float(b);
}

/// Python's float modulo: the sign of the divisor, and a signed zero.
double python_mod(double a, double b) {
  if (b == 0) zero_division("division by zero");
  double mod = std::fmod(a, b);
  if (mod == 0) return std::copysign(0.0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
}

/// CPython's float_floor_div, step by step, so that the last bit agrees.
double python_floordiv(double a, double b) {
  if (b == 0) zero_division("division by zero");
  double mod = std::fmod(a, b);
  double quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1.0;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1.0 : floored;
}

Number floordiv(const Number& a, const Number& b) {
  if (!is_integral(a) || !is_integral(b)) return python_floordiv(as_float(a), as_float(b));
  const std::int64_t x = as_int(a), y = as_int(b);
  if (y == 0) zero_division("integer division or modulo by zero");
  in_range(x == INT64_MIN && y == -1, 0);
  return x / y - (x % y != 0 && (x % y < 0) != (y < 0) ? 1 : 0);
}

Number mod(const Number& a, const Number& b) {
  if (!is_integral(a) || !is_integral(b)) return python_mod(as_float(a), as_float(b));
  const std::int64_t x = as_int(a), y = as_int(b);
  if (y == 0) zero_division("integer division or modulo by zero");
  if (y == -1) return std::int64_t{0};
  const std::int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

Number power(const Number& a, const Number& b) {
  if (is_integral(a) && is_integral(b) && as_int(b) >= 0) {
    std::int64_t out = 1;
    const std::int64_t base = as_int(a);
    if (base == 0 || base == 1) return as_int(b) == 0 ? std::int64_t{1} : base;
    if (base == -1) return as_int(b) % 2 == 0 ? std::int64_t{1} : base;
    for (std::int64_t i = 0; i < as_int(b); ++i) {
      out = in_range(__builtin_mul_overflow(out, base, &out), out);
    }
    return out;
  }
  const double x = as_float(a), y = as_float(b);
  if (x == 0 && y < 0) zero_division("0.0 cannot be raised to a negative power");
  if (x < 0 && std::isfinite(x) && std::isfinite(y) && y != std::floor(y)) {
    throw Unsupported("a complex power of a negative number");
  }
  const double out = std::pow(x, y);
  if (std::isinf(out) && std::isfinite(x) && std::isfinite(y)) {
    throw PythonError("OverflowError", "(34, 'Numerical result out of range')");
  }
  return out;
}

/// -1, 0 or 1; 2 if unordered.  Int against float compares exactly, as Python does.
int compare(const Number& a, const Number& b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; };
  if (is_integral(a) && is_integral(b)) return order(as_int(a), as_int(b));
  if (!is_integral(a) && !is_integral(b)) return order(as_float(a), as_float(b));
  // A long double has 64 bits of precision on x86 and 113 elsewhere: either holds every int64.
  const auto wide = [](const Number& v) {
    return std::visit([](auto number) { return static_cast<long double>(number); }, v);
  };
  return order(wide(a), wide(b));
}

Number absolute(const Number& a) {
  if (!is_integral(a)) return std::fabs(as_float(a));
  return as_int(a) < 0 ? sub(std::int64_t{0}, a) : Number(as_int(a));
}

Number square_root(const Number& a) {
  if (as_float(a) < 0) throw PythonError("ValueError", "math domain error");
  return std::sqrt(as_float(a));
}

/// The first of the operands that none other is smaller (larger) than, as min() and max() choose.
Number extreme(const Operands& operands, int wanted) {
  Number best = operands.front();
  for (const Number& operand : operands) {
    if (compare(operand, best) == wanted) best = operand;
  }
  return best;
}

using Function = std::function<Number(const Operands&)>;

Function unary(Number (*function)(const Number&)) {
  return [=](const Operands& v) { return function(v[0]); };
}

Function binary(Number (*function)(const Number&, const Number&)) {
  return [=](const Operands& v) { return function(v[0], v[1]); };
}

template <class Test>
Function comparison(Test test) {
  return [=](const Operands& v) { return Number(test(compare(v[0], v[1]))); };
}

/// What each operator of program/scalar_operators.h computes.
const std::unordered_map<std::string, Function>& functions() {
  static const std::unordered_map<std::string, Function> entries = {
      {"add", binary(add)},
      {"sub", binary(sub)},
      {"mul", binary(mul)},
      {"div", binary(div)},
      {"floordiv", binary(floordiv)},
      {"mod", binary(mod)},
      {"pow", binary(power)},
      {"neg", unary([](const Number& a) {
         return is_integral(a) ? sub(std::int64_t{0}, a) : Number(-as_float(a));
       })},
      {"abs", unary(absolute)},
      {"min", [](const Operands& v) { return extreme(v, -1); }},
      {"max", [](const Operands& v) { return extreme(v, 1); }},
      {"sqrt", unary(square_root)},
      {"floor", unary([](const Number& a) {
         return is_integral(a) ? Number(as_int(a)) : to_int(std::floor(as_float(a)));
       })},
      {"ceil", unary([](const Number& a) {
         return is_integral(a) ? Number(as_int(a)) : to_int(std::ceil(as_float(a)));
       })},
      {"eq", comparison([](int order) { return order == 0; })},
      {"ne", comparison([](int order) { return order != 0; })},
      {"lt", comparison([](int order) { return order == -1; })},
      {"le", comparison([](int order) { return order == -1 || order == 0; })},
      {"gt", comparison([](int order) { return order == 1; })},
      {"ge", comparison([](int order) { return order == 1 || order == 0; })},
      {"and", [](const Operands& v) { return truth(v[0]) ? v[1] : v[0]; }},
      {"or", [](const Operands& v) { return truth(v[0]) ? v[0] : v[1]; }},
      {"not", unary([](const Number& a) { return Number(!truth(a)); })},
      {"int", unary([](const Number& a) {
         return is_integral(a) ? Number(as_int(a)) : to_int(std::trunc(as_float(a)));
       })},
      {"float", unary([](const Number& a) { return Number(as_float(a)); })},
      {"bool", unary([](const Number& a) { return Number(truth(a)); })},
  };
  return entries;
}

}  // namespace

c10::IValue scalar_step(const std::string& name, const std::vector<c10::IValue>& operands) {
  const ScalarOperator* known = find_scalar_operator(name);
  if (known == nullptr) throw Unsupported("scalar operator " + name);
  if (!known->takes(operands.size())) {
    throw Malformed("scalar operator " + name + " takes " + known->arity() + " operands, not " +
                    std::to_string(operands.size()));
  }
  Operands numbers;
  for (const c10::IValue& operand : operands) {
    if (operand.isBool()) {
      numbers.emplace_back(operand.toBool());
    } else if (operand.isInt()) {
      numbers.emplace_back(operand.toInt());
    } else if (operand.isDouble()) {
      numbers.emplace_back(operand.toDouble());
    } else {
      throw Unsupported("scalar operator " + name + " of a " + operand.tagKind());
    }
  }
  return std::visit([](auto number) { return c10::IValue(number); }, functions().at(name)(numbers));
}

}  // namespace lockstep::eager
