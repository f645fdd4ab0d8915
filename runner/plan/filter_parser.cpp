#include "plan/filter_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/reader.h"
#include "base/text.h"
#include "verdict/status.h"
#include "verdict/verdict.h"

namespace lockstep {
namespace {

constexpr std::size_t kDeepestExpression = 100;  // levels may come from strangers

/// Statuses are a closed list, so a misspelled one is an error rather than a run of nothing.
void check_status(const std::string& pattern, std::vector<Error>& errors) {
  std::vector<std::string> words = {"failing", "diverging"};
  for (const StandingInfo& each : all_standings()) words.emplace_back(each.name);
  for (const StatusInfo& each : all_statuses()) words.emplace_back(each.name);
  if (std::any_of(words.begin(), words.end(),
                  [&](const std::string& word) { return glob_match(pattern, word); }))
    return;
  errors.push_back(
      {fmt::format("found `status:{}`, expected a status, a standing, `failing` or `diverging`",
                   one_line(pattern, 60)),
       suggestion(pattern, words)});
}

/// The place after the bracket that closes the one at `at`; the next place where none does.
std::size_t after_brackets(const std::string& text, std::size_t at) {
  std::size_t depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return i + 1;
  }
  return at + 1;
}

bool is_blank(char character) { return character == ' ' || character == '\t' || character == '\n'; }

}  // namespace

std::vector<FilterParser::Token> FilterParser::words_of(const std::string& text) {
  using Kind = Token::Kind;
  std::vector<Token> tokens;
  std::size_t at = 0;
  const auto add = [&](Kind kind, std::size_t from, std::string word) {
    tokens.push_back({kind, std::move(word), &text, from + 1, {}});
  };
  while (at < text.size()) {
    if (is_blank(text[at])) {
      ++at;
    } else if (text[at] == '(') {
      add(Kind::open, at++, "(");
    } else if (text.compare(at, 2, "!(") == 0) {
      add(Kind::negation, at++, "!");
    } else {
      const std::size_t from = at;
      while (at < text.size() && !is_blank(text[at]))
        at = text[at] == '[' ? after_brackets(text, at) : at + 1;
      std::string word = text.substr(from, at - from);
      // A parenthesis that the word does not open closes a group.
      std::size_t closing = 0;
      while (word.ends_with(')') && std::count(word.begin(), word.end(), ')') >
                                        std::count(word.begin(), word.end(), '(')) {
        word.pop_back();
        ++closing;
      }
      if (!word.empty()) {
        const Kind kind = word == "and"   ? Kind::conjunction
                          : word == "or"  ? Kind::disjunction
                          : word == "not" ? Kind::negation
                                          : Kind::term;
        add(kind, from, word);
      }
      for (std::size_t i = 0; i < closing; ++i) add(Kind::close, from + word.size() + i, ")");
    }
  }
  return tokens;
}

Filter::Node FilterParser::parse(const std::vector<std::string>& texts) {
  std::vector<Token> tokens;
  for (const std::string& text : texts) {
    std::vector<Token> words = words_of(text);
    if (words.empty())
      errors_.push_back({"found an empty SELECT, expected something to look for", ""});
    const bool joins = std::any_of(words.begin(), words.end(), [](const Token& token) {
      return token.kind == Token::Kind::conjunction || token.kind == Token::Kind::disjunction;
    });
    if (joins && words.size() > 1) {
      words.push_back({Token::Kind::end, "", &text, text.size() + 1, {}});
      FilterParser inner(errors_);
      tokens.push_back({Token::Kind::group, text, &text, 1, inner.whole(std::move(words))});
    } else {
      std::move(words.begin(), words.end(), std::back_inserter(tokens));
    }
  }
  if (tokens.empty()) return {};
  tokens.push_back({Token::Kind::end, "", &texts.back(), texts.back().size() + 1, {}});
  return whole(std::move(tokens));
}

Filter::Node FilterParser::whole(std::vector<Token> tokens) {
  tokens_ = std::move(tokens);
  at_ = 0;
  depth_ = 0;
  broken_ = false;
  Filter::Node node = selection();
  if (!broken_ && next().kind != Token::Kind::end) unexpected(next(), "a term or the end");
  return node;
}

Filter::Node FilterParser::selection() {
  Filter::Node node{Filter::Node::Kind::any, {}, {conjunction()}};
  while (!broken_ && next().kind == Token::Kind::disjunction) {
    ++at_;
    node.children.push_back(conjunction());
  }
  if (node.children.size() > 1) return node;
  Filter::Node only = std::move(node.children.front());
  return only;
}

Filter::Node FilterParser::conjunction() {
  Filter::Node node{Filter::Node::Kind::all, {}, {list()}};
  while (!broken_ && next().kind == Token::Kind::conjunction) {
    ++at_;
    node.children.push_back(list());
  }
  if (node.children.size() > 1) return node;
  Filter::Node only = std::move(node.children.front());
  return only;
}

Filter::Node FilterParser::list() {
  using Kind = Token::Kind;
  Filter::Node node;
  while (!broken_ && (next().kind == Kind::term || next().kind == Kind::negation ||
                      next().kind == Kind::open || next().kind == Kind::group))
    node.children.push_back(factor());
  if (!broken_ && node.children.empty()) unexpected(next(), "a term");
  return node;
}

Filter::Node FilterParser::factor() {
  using Kind = Token::Kind;
  const Token token = next();
  if (token.kind == Kind::term || token.kind == Kind::group) {
    ++at_;
    return token.kind == Kind::term ? term(token) : token.group;
  }
  if (++depth_ > kDeepestExpression) {
    unexpected(token, fmt::format("at most {} of `(` and `not` in each other", kDeepestExpression));
    return {};
  }
  Filter::Node node;
  if (token.kind == Kind::negation) {
    ++at_;
    if (next().kind == Kind::term || next().kind == Kind::negation || next().kind == Kind::open ||
        next().kind == Kind::group) {
      node = {Filter::Node::Kind::negation, {}, {factor()}};
    } else {
      unexpected(next(), "a term");
    }
  } else if (token.kind == Kind::open) {
    ++at_;
    node = selection();
    if (!broken_) {
      if (next().kind == Kind::close) {
        ++at_;
      } else {
        unexpected(next(), fmt::format("`)` for the `(` at column {}", token.column));
      }
    }
  }
  --depth_;
  return node;
}

Filter::Node FilterParser::term(const Token& token) {
  Filter::Term term{"id", token.word, false};
  if (term.pattern.starts_with('!')) {
    term.excludes = true;
    term.pattern.erase(0, 1);
  }
  // An id has no colon before its matrix.
  const std::size_t colon = term.pattern.find(':');
  if (colon != std::string::npos && colon < term.pattern.find_first_of("[@/")) {
    term.kind = term.pattern.substr(0, colon);
    term.pattern.erase(0, colon + 1);
    std::vector<std::string> names;
    for (const FilterKind& kind : filter_kinds()) names.emplace_back(kind.name);
    if (!contains(names, term.kind)) {
      errors_.push_back({fmt::format("found the unknown filter `{}:`", one_line(term.kind, 60)),
                         suggestion(term.kind, names)});
      return {};
    }
  }
  if (term.pattern.empty()) {
    errors_.push_back({fmt::format("found the filter `{}`, expected something to look for",
                                   one_line(token.word, 60)),
                       ""});
    return {};
  }
  if (term.kind == "status") check_status(term.pattern, errors_);
  return {Filter::Node::Kind::term, std::move(term), {}};
}

void FilterParser::unexpected(const Token& token, std::string_view expected) {
  broken_ = true;
  const std::string found =
      token.kind == Token::Kind::end ? "the end" : fmt::format("`{}`", one_line(token.word, 60));
  errors_.push_back({fmt::format("`{}`, column {}: found {}, expected {}",
                                 one_line(*token.text, 200), token.column, found, expected),
                     "for example 'status:failing and (op:add or op:mul)'"});
}

}  // namespace lockstep
