#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

// The operators that take sub-programs.  lockstep_worker/applied.py has the same.
namespace lockstep {

/// What an argument by name of such an operator has to be.
enum class Word { reference, references, count, integer, flag, number, axes, places };

struct HigherOrderWord {
  std::string_view name;
  Word is = Word::flag;
  bool required = false;
};

struct HigherOrder {
  std::string_view name;                    ///< in case files, on the wire, printed
  std::array<std::string_view, 2> roles{};  ///< of its sub-programs; the second one may be empty
  std::array<HigherOrderWord, 3> words{};   ///< its arguments by name; empty names at the end

  std::span<const std::string_view> programs() const {
    return std::span(roles).first(roles[1].empty() ? 1 : 2);
  }
};

/// What a loop may ask for at most (`most`).
constexpr std::int64_t kMostIterations = 1024;
/// How deep sub-programs may lie in sub-programs.
constexpr int kMostSubPrograms = 4;

std::span<const HigherOrder> higher_order();

/// nullptr if there is none of that name.
const HigherOrder* find_higher_order(std::string_view name);

/// An argument by name; nullptr where it is left out.
const Value* word_of(const ApplyCall& call, std::string_view name);

/// The values of an argument by name that is a list; none where it is left out.
std::vector<Value> list_of(const ApplyCall& call, std::string_view name);

/// An integer that an argument by name is, or `otherwise`.
std::int64_t integer_of(const ApplyCall& call, std::string_view name, std::int64_t otherwise);

/// The sub-program of a role; nullptr if there is none.
const SubProgram* sub_program(const ApplyCall& call, std::string_view role);

/// What is wrong with a call: the key of its step where it is, and what was found and expected.
struct HigherOrderFault {
  std::string key;  ///< "do/inputs"
  std::string message;
};

/// Whether the sub-programs and arguments of a call are those of its operator, whose name is known.
std::optional<HigherOrderFault> fault_of(const ApplyCall& call);

/// How many results a call without a fault has.
std::size_t results_of(const ApplyCall& call);

/// Whether what is executed depends on the elements of tensors.
bool decides(const ApplyCall& call);

}  // namespace lockstep
