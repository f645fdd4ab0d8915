#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Whether an enumeration has an enumerator of that value.  Compilers print one that it lacks as a
/// cast, "(lockstep::Status)18".
template <auto value>
consteval bool is_enumerator() {
  constexpr std::string_view kBefore = "value = ";
  const std::string_view text = __PRETTY_FUNCTION__;
  return text[text.rfind(kBefore) + kBefore.size()] != '(';
}

/// How many enumerators an enumeration has that counts from 0.
template <class Enum, std::size_t from = 0>
consteval std::size_t enumerators() {
  if constexpr (is_enumerator<static_cast<Enum>(from)>()) {
    return enumerators<Enum, from + 1>();
  } else {
    return from;
  }
}

/// Whether a table has one row for each enumerator, in their order, so that a value is its row's
/// place.  `key` is the column with the enumerator.  Meant for a static_assert beside the table: an
/// enumerator without a row then does not compile, and needs no counter among the enumerators.
template <class Row, std::size_t size, class Enum>
consteval bool has_every_row(const std::array<Row, size>& rows, Enum Row::*key) {
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<std::size_t>(rows[i].*key) != i) return false;
  }
  return !is_enumerator<static_cast<Enum>(size)>();
}

/// The row whose column `name` is that, or nullptr.
template <class Row, std::size_t size>
constexpr const Row* find_named(const std::array<Row, size>& rows, std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// The column `name` of all rows.
template <class Row, std::size_t size>
std::vector<std::string> names_of(const std::array<Row, size>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

}  // namespace lockstep
