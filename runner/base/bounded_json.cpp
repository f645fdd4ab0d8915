#include "base/bounded_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

/// Builds a value as the library's parser does, but within bounds, and without looking for each key
/// among those that its object has already: an object that keeps their order has no faster way, and
/// a mebibyte of keys would take seconds.  Members wait until their object ends, which then has
/// room for them all: one that grows copies whatever it has, for its keys cannot be moved.
class Builder {
 public:
  explicit Builder(const JsonBounds& bounds, bool keys_once)
      : bounds_(bounds), keys_once_(keys_once) {}

  const std::string& fault() const { return fault_; }
  Json take() { return std::move(root_); }

  // What the library calls, in the order of the text.
  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(Json::number_integer_t value) { return add(Json(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(Json(value)); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(Json::binary_t&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool end_object() {
    Open& ended = open_[depth_ - 1];
    Members& members = *ended.container.get_ptr<Json::object_t*>();
    members.reserve(ended.members.size());
    for (auto& [name, value] : ended.members)
      members.emplace_back(std::move(name), std::move(value));
    ended.members.clear();
    if (keys_once_) note_repeated(members);
    close();
    return fault_.empty();
  }
  bool end_array() {
    close();
    return true;
  }
  template <class Exception>
  bool parse_error(std::size_t, const std::string&, const Exception& error) {
    throw error;
  }

 private:
  using Members = std::vector<std::pair<const std::string, Json>>;

  /// A list or an object that has not ended.
  struct Open {
    Json container;
    std::string key;  ///< that it has in its parent
    std::vector<std::pair<std::string, Json>> members;
  };

  bool refuse(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  /// Puts a value where the next one belongs: the root, behind the last key, the end of a list.
  void put(Json value) {
    if (depth_ == 0) {
      root_ = std::move(value);
    } else if (Open& parent = open_[depth_ - 1]; parent.container.is_object()) {
      parent.members.emplace_back(std::move(key_), std::move(value));
    } else {
      parent.container.get_ptr<Json::array_t*>()->push_back(std::move(value));
    }
  }

  bool add(Json value) {
    if (++values_ > bounds_.values)
      return refuse(fmt::format("more than {} values", grouped(bounds_.values)));
    put(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (depth_ >= bounds_.depth) return refuse(fmt::format("nested deeper than {}", bounds_.depth));
    if (++values_ > bounds_.values)
      return refuse(fmt::format("more than {} values", grouped(bounds_.values)));
    if (depth_ == open_.size()) open_.emplace_back();
    Open& begun = open_[depth_++];
    begun.container = std::move(container);
    begun.key = std::move(key_);
    return true;
  }

  void close() {
    Open& ended = open_[--depth_];
    key_ = std::move(ended.key);
    put(std::move(ended.container));
  }

  void note_repeated(const Members& members) {
    constexpr std::size_t kFew = 16;  // each is compared with each; more are sorted
    std::string_view twice;
    bool found = false;
    if (members.size() <= kFew) {
      for (std::size_t i = 1; i < members.size() && !found; ++i) {
        for (std::size_t j = 0; j < i && !found; ++j) {
          found = members[i].first == members[j].first;
          twice = members[i].first;
        }
      }
    } else {
      std::vector<std::string_view> names;
      names.reserve(members.size());
      for (const auto& [name, value] : members) names.push_back(name);
      std::sort(names.begin(), names.end());
      const auto at = std::adjacent_find(names.begin(), names.end());
      found = at != names.end();
      if (found) twice = *at;
    }
    if (found) refuse(fmt::format("the key \"{}\" twice in one object", one_line(twice, 60)));
  }

  JsonBounds bounds_;
  bool keys_once_;
  Json root_;
  std::vector<Open> open_;  ///< those around the next value are the first `depth_`
  std::size_t depth_ = 0;
  std::string key_;  ///< before the next value of an object
  std::size_t values_ = 0;
  std::string fault_;
};

}  // namespace

Result<Json> parse_bounded_json(std::string_view text, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) {
    return fail(fmt::format("{} bytes, at most {} may be read", grouped(text.size()),
                            grouped(bounds.bytes)));
  }
  Builder builder(bounds, true);
  try {
    if (!Json::sax_parse(text, &builder)) return fail(builder.fault());
  } catch (const Json::exception& error) {
    return fail(one_line(error.what()));
  }
  return builder.take();
}

Json build_json(std::string_view text) {
  Builder builder({kUnbounded, kUnbounded, kUnbounded}, false);
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace lockstep
