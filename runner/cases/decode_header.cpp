#include <fmt/format.h>

#include "base/pattern.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

std::string decode_range(Reader& reader, const Node& node, std::string_view example) {
  const std::string expected = fmt::format("a range of versions such as \"{}\"", example);
  const auto text = reader.text(node, expected);
  if (text && !valid_range(*text)) reader.mismatch(node, expected);
  return text.value_or("");
}

/// What people and filters read: title, comment, links and tags.
void decode_labels(Reader& reader, const Node& root, Case& result) {
  if (const auto title =
          reader.required(root, "title", "one line that says what the case is about")) {
    const auto text = reader.text(*title);
    result.title = text.value_or("");
    if (text && (text->empty() || text->size() > 160 || text->find('\n') != std::string::npos)) {
      reader.mismatch(*title, "one line of 1 to 160 bytes");
    }
  }
  if (const auto comment = reader.child(root, "comment")) reader.text(*comment);
  if (const auto links = reader.child(root, "links")) {
    result.links = reader.texts(*links, "a list of links");
    for (std::size_t i = 0; (*links)->is_array() && i < (*links)->size(); ++i) {
      const Node link = reader.element(*links, i);
      if (link->is_string() && !link->get_ref<const std::string&>().starts_with("https://"))
        reader.mismatch(link, "a link that begins with https://");
    }
  }
  if (const auto tags = reader.child(root, "tags")) {
    result.tags = reader.texts(*tags, "a list of tags");
    for (std::size_t i = 0; (*tags)->is_array() && i < (*tags)->size(); ++i) {
      const Node tag = reader.element(*tags, i);
      if (!tag->is_string()) continue;
      const std::string& text = tag->get_ref<const std::string&>();
      if (text.empty() ||
          text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos) {
        reader.mismatch(tag, "a tag of lower-case letters, digits and -");
      }
    }
  }
}

/// Where the case holds: its requirements, whether anybody ran it, its paths and devices.
void decode_conditions(Reader& reader, const Node& root, Case& result) {
  if (const auto needs = reader.child(root, "requires");
      needs && reader.object(*needs, {"lockstep", "torch", "eager"})) {
    if ((*needs)->empty())
      reader.mismatch(*needs, "at least one of `lockstep`, `torch` and `eager`");
    if (const auto range = reader.child(*needs, "lockstep"))  // met, or this would not be read
      decode_range(reader, *range, ">=0.1");
    if (const auto range = reader.child(*needs, "torch"))
      result.requires_torch = decode_range(reader, *range, ">=2.12,<2.14");
    if (const auto eager = reader.child(*needs, "eager"))
      result.eager_must_return = reader.word(*eager, {"returns"}, "`returns`").has_value();
  }
  if (const auto unverified = reader.child(root, "unverified")) {
    const std::string_view why = "one line of 1 to 300 bytes that says why nobody has run it";
    result.unverified = reader.text(*unverified, why).value_or("");
    if ((*unverified)->is_string() &&
        (result.unverified.empty() || result.unverified.size() > 300 ||
         result.unverified.find('\n') != std::string::npos)) {
      reader.mismatch(*unverified, why);
    }
  }
  if (const auto only = reader.child(root, "only");
      only && reader.object(*only, {"paths", "devices"})) {
    if (const auto paths = reader.child(*only, "paths"))
      result.only_paths = reader.texts(*paths, "a list of globs");
    if (const auto devices = reader.child(*only, "devices"))
      result.only_devices = reader.texts(*devices, "a list of globs");
  }
}

void decode_raises(Reader& reader, const Node& root, Case& result) {
  if (const auto raises = reader.child(root, "raises");
      raises && reader.object(*raises, {"class", "match"})) {
    RaisesRule rule;
    if (const auto name = reader.child(*raises, "class"))
      rule.class_name = reader.text(*name, "the name of an exception class").value_or("");
    if (const auto match = reader.child(*raises, "match")) {
      rule.match = reader.text(*match, "a regular expression").value_or("");
      if (!is_found(rule.match, "")) {
        reader.mismatch(*match,
                        "a regular expression (RE2, without back-references and lookahead) of "
                        "at most 500 characters");
      }
    }
    result.raises = rule;
  }
}

}  // namespace

void decode_header(Reader& reader, const Node& root, Case& result) {
  decode_labels(reader, root, result);
  decode_conditions(reader, root, result);
  if (const auto seed = reader.child(root, "seed")) {
    result.seed = static_cast<std::uint64_t>(
        reader.integer(*seed, 0, INT64_MAX, "a seed of 0 or more").value_or(0));
  }
  if (const auto threads = reader.child(root, "threads")) {
    result.threads = static_cast<int>(
        reader.integer(*threads, 1, kMostThreads, "a number of threads, 1 to 64").value_or(0));
  }
  if (const auto strides = reader.child(root, "strides")) {
    const auto word =
        reader.word(*strides, stride_rule_names(), "`significant`, `exact` or `ignore`");
    if (word) result.strides = *find_stride_rule(*word);
  }
  if (const auto pointwise = reader.child(root, "pointwise"))
    result.pointwise = reader.boolean(*pointwise).value_or(false);
  if (const auto share = reader.child(root, "share"))
    result.share = reader.boolean(*share).value_or(false);
  decode_raises(reader, root, result);
}

}  // namespace lockstep
