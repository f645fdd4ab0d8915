#include "program/scalar_operators.h"

namespace lockstep {
namespace {

constexpr ScalarOperator kOperators[] = {
    {"add", 2, 2, "{} + {}"},          {"sub", 2, 2, "{} - {}"},
    {"mul", 2, 2, "{} * {}"},          {"div", 2, 2, "{} / {}"},
    {"floordiv", 2, 2, "{} // {}"},    {"mod", 2, 2, "{} % {}"},
    {"pow", 2, 2, "{} ** {}"},         {"neg", 1, 1, "-{}"},
    {"abs", 1, 1, "abs({})"},          {"min", 2, 0, "min({})"},
    {"max", 2, 0, "max({})"},          {"sqrt", 1, 1, "math.sqrt({})"},
    {"floor", 1, 1, "math.floor({})"}, {"ceil", 1, 1, "math.ceil({})"},
    {"eq", 2, 2, "{} == {}"},          {"ne", 2, 2, "{} != {}"},
    {"lt", 2, 2, "{} < {}"},           {"le", 2, 2, "{} <= {}"},
    {"gt", 2, 2, "{} > {}"},           {"ge", 2, 2, "{} >= {}"},
    {"and", 2, 2, "{} and {}"},        {"or", 2, 2, "{} or {}"},
    {"not", 1, 1, "not {}"},           {"int", 1, 1, "int({})"},
    {"float", 1, 1, "float({})"},      {"bool", 1, 1, "bool({})"},
};

}  // namespace

std::string ScalarOperator::arity() const {
  return std::to_string(fewest) + (most == 0 ? " or more" : "");
}

std::span<const ScalarOperator> scalar_operators() { return kOperators; }

const ScalarOperator* find_scalar_operator(std::string_view name) {
  for (const ScalarOperator& each : kOperators) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace lockstep
