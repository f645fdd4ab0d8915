#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plan/filter.h"

namespace lockstep {

/// Reads the language of filters.  Faults are added to a list, with the text and the column.
///
///   selection   = conjunction { "or" conjunction }
///   conjunction = list { "and" list }
///   list        = factor { factor }
///   factor      = [ "not" | "!" ] ( TERM | "(" selection ")" )
class FilterParser {
 public:
  explicit FilterParser(std::vector<Error>& errors) : errors_(errors) {}

  /// Reads texts, each a word or several; `texts` is not empty.
  Filter::Node parse(const std::vector<std::string>& texts);

 private:
  struct Token {
    enum class Kind { term, conjunction, disjunction, negation, open, close, group, end };
    Kind kind = Kind::end;
    std::string word;
    const std::string* text = nullptr;
    std::size_t column = 1;   ///< from 1, in bytes
    Filter::Node group = {};  ///< a text that stands as in parentheses
  };
  static std::vector<Token> words_of(const std::string& text);
  /// Reads all of `tokens`, the last of which is an end.
  Filter::Node whole(std::vector<Token> tokens);
  Filter::Node selection();
  Filter::Node conjunction();
  Filter::Node list();
  Filter::Node factor();
  Filter::Node term(const Token& token);
  const Token& next() const { return tokens_[at_]; }
  void unexpected(const Token& token, std::string_view expected);

  std::vector<Error>& errors_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool broken_ = false;  ///< the structure has a fault: what follows is not looked at
};

}  // namespace lockstep
