#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

/// Parses "%t[..., 0::2, None, %i, [0, 2], true]".  The text is taken apart and written anew: it is
/// never evaluated.
class IndexParser {
 public:
  IndexParser(std::string_view text, Scope& scope) : text_(text), scope_(scope) {}

  std::optional<IndexedName> parse() {
    IndexedName result;
    if (!take('%')) return wrong("a name with its sign, such as %t");
    result.name = name();
    if (!use(result.name)) return std::nullopt;
    if (!take('[')) return wrong("`[`");
    do {
      auto item = index_item();
      if (!item) return std::nullopt;
      result.items.push_back(std::move(*item));
    } while (take(','));
    if (!take(']')) return wrong("`,` or `]`");
    if (at_ != text_.size()) return wrong("nothing more");
    return result;
  }
  const std::string& fault() const { return fault_; }
  const std::string& hint() const { return hint_; }

 private:
  std::nullopt_t wrong(std::string_view expected) {
    if (fault_.empty()) {
      fault_ = at_ >= text_.size()
                   ? fmt::format("the index ends where {} is expected", expected)
                   : fmt::format("found `{}` at character {}, expected {}",
                                 one_line(text_.substr(at_, 12)), at_ + 1, expected);
    }
    return std::nullopt;
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool use(const std::string& name) {
    Scope::Name* known = scope_.find(name);
    if (known == nullptr) {
      fault_ =
          fmt::format("found `%{}`, which no input or earlier step defines", one_line(name, 60));
      hint_ = suggestion(name, scope_.known());
      return false;
    }
    known->used = true;
    return true;
  }
  /// An int or a reference; nothing when neither is there.
  std::optional<Value> number() {
    space();
    if (at_ < text_.size() && text_[at_] == '%') {
      ++at_;
      const std::string referred = name();
      if (!use(referred)) return std::nullopt;
      return Value{Ref{referred}};
    }
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return Value{value};
  }
  std::optional<IndexItem> index_item() {
    if (take("...")) return Ellipsis{};
    if (take("None")) return NewAxis{};
    if (take("true") || take("True")) return Value{true};
    if (take("false") || take("False")) return Value{false};
    if (take('[')) return list();
    auto first = number();
    if (!fault_.empty()) return std::nullopt;
    space();
    if (at_ >= text_.size() || text_[at_] != ':') {
      if (!first)
        return wrong(
            "an item: an integer, a slice, `...`, `None`, `true`, a list or a name such as %i");
      return first;
    }
    ++at_;
    Slice slice{first.value_or(Value{}), number().value_or(Value{}), {}};
    if (take(':')) slice.step = number().value_or(Value{});
    if (!fault_.empty()) return std::nullopt;
    return slice;
  }
  std::optional<Value> list() {
    Value::List items;
    do {
      auto item = number();
      if (!item || std::holds_alternative<Ref>(item->is)) return wrong("an integer");
      items.push_back(std::move(*item));
    } while (take(','));
    if (!take(']')) return wrong("`,` or `]`");
    return Value{std::move(items)};
  }

  std::string_view text_;
  Scope& scope_;
  std::size_t at_ = 0;
  std::string fault_;
  std::string hint_;
};

}  // namespace

std::optional<IndexedName> decode_indexed(Reader& reader, const Node& node, Scope& scope) {
  const auto text = reader.text(node, "a name with an index, such as \"%t[..., 0::2]\"");
  if (!text) return std::nullopt;
  IndexParser parser(*text, scope);
  auto result = parser.parse();
  if (!result) reader.error(node.pointer, parser.fault(), parser.hint());
  return result;
}

}  // namespace lockstep
