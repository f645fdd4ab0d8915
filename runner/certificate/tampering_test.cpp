#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/fuzzing.h"
#include "base/gzip.h"
#include "certificate/archive.h"
#include "certificate/fixtures.h"

// Whoever changes an archive is refused.  What is changed on the way the digests find.  Who writes
// the digests anew meets what Lockstep tells again from the rest; what is left is in
// kOnItsOwnWord, and only a sample and a signature speak for it.

namespace lockstep {
namespace {

using namespace fixtures;

const std::string& certified() {
  static const std::string bytes = make_certificate(tiny_submission()).value_or("");
  return bytes;
}

bool passes(std::string_view bytes) { return check_certificate(bytes, tiny_suite()).has_value(); }

/// The archive with one of its files changed, and the digests as they have to be.
std::string repaired(const std::string& name, const std::function<void(std::string&)>& change) {
  ArchiveFiles files = *read_archive(certified());
  std::string& bytes = files.at(name);
  const bool packed = name.ends_with(".gz");
  std::string text = packed ? *gunzip(bytes, 1 << 24) : bytes;
  change(text);
  bytes = packed ? gzip(text) : text;
  return write_archive(files).value_or("");
}

std::string text_of(const std::string& name) {
  std::string text;
  repaired(name, [&](std::string& found) { text = found; });
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

const char* const kNames[] = {"run.jsonl.gz",   "declared.jsonl.gz",  "level.json",
                              "path.json",      "certification.json", "waivers/0.json",
                              "statement.json", "statement.txt"};

TEST(Tampering, TheArchiveItselfPasses) {
  ASSERT_FALSE(certified().empty());
  EXPECT_TRUE(passes(certified()));
  for (const char* name : kNames) EXPECT_TRUE(passes(repaired(name, [](std::string&) {}))) << name;
}

TEST(Tampering, EverySingleByte) {
  fuzz::Random random(1);
  std::string changed = certified();
  for (char& byte : changed) {
    const char before = byte;
    byte = static_cast<char>(byte ^ static_cast<char>(1 + random.below(255)));
    EXPECT_FALSE(passes(changed)) << "byte " << &byte - changed.data();
    byte = before;
  }
}

TEST(Tampering, BytesThatAreGoneOrMore) {
  for (std::size_t at = 0; at < certified().size(); at += 97) {
    EXPECT_FALSE(passes(certified().substr(0, at))) << at;
    std::string changed = certified();
    changed.erase(at, 1);
    EXPECT_FALSE(passes(changed)) << at;
    changed = certified();
    changed.insert(at, 1, changed[at]);
    EXPECT_FALSE(passes(changed)) << at;
  }
}

/// Whatever is done to the lines of a file, with the digests written anew.
TEST(Tampering, EveryLineThatIsGoneTwiceOrElsewhere) {
  std::size_t tried = 0;
  for (const char* name : kNames) {
    const std::vector<std::string> lines = lines_of(text_of(name));
    const auto refuse = [&](const std::vector<std::string>& other, std::size_t line,
                            const char* how) {
      ++tried;
      EXPECT_FALSE(passes(repaired(name, [&](std::string& text) { text = joined(other); })))
          << name << ":" << line + 1 << " " << how;
    };
    fuzz::Random random(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::vector<std::string> other = lines;
      other.erase(other.begin() + static_cast<std::ptrdiff_t>(i));
      refuse(other, i, "is gone");
      other = lines;
      other.insert(other.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
      refuse(other, i, "is there twice");
      for (const std::size_t k :
           {i + 1, i + 1 + random.below(lines.size()), i + 1 + random.below(lines.size())}) {
        if (k >= lines.size() || lines[i] == lines[k]) continue;
        other = lines;
        std::swap(other[i], other[k]);
        refuse(other, i, "is elsewhere");
      }
    }
  }
  EXPECT_GT(tried, 500U);
}

TEST(Tampering, EveryFileThatIsGoneOrMore) {
  const ArchiveFiles files = *read_archive(certified());
  for (const auto& [name, bytes] : files) {
    ArchiveFiles other = files;
    other.erase(name);
    EXPECT_FALSE(passes(*write_archive(other))) << name;
    other = files;
    other[name + "2"] = bytes;
    EXPECT_FALSE(passes(*write_archive(other))) << name;
  }
}

// 3 MB of gzip can be 3 GB; nothing is held of it but a line.
TEST(Tampering, ABombIsNotUnpacked) {
  for (const std::string& more : {std::string(64 << 20, ' '), std::string(64 << 20, '\n')}) {
    const auto found = check_certificate(
        repaired("run.jsonl.gz", [&](std::string& text) { text += more; }), tiny_suite());
    ASSERT_FALSE(found);
    const std::string& why = found.error().front().message;
    EXPECT_TRUE(why.find("more than 200 times what is packed") != std::string::npos ||
                why.find("no record") != std::string::npos)
        << why;
  }
}

/// Calls `visit` with every value of a document that is no list and no object, and with the keys
/// that lead to it, places in lists left out.
void each_leaf(Json& json, const std::string& keys,
               const std::function<void(Json&, const std::string&)>& visit) {
  if (!json.is_structured()) return visit(json, keys);
  for (auto& [key, value] : json.items())
    each_leaf(value, json.is_array() ? keys : keys + "/" + key, visit);
}

Json other_than(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_float()) return value.get<double>() + 0.5;
  if (value.is_number_integer()) return value.get<std::int64_t>() + 1;
  if (value == name_of(Witness::observed)) return name_of(Witness::stated);  // no other is read
  if (value.is_string()) return value.get<std::string>() + "x";
  return "x";
}

/// What a log says on its own word: nothing else in the archive tells it again. These are the time,
/// the place and the seconds of the run, and measurements on their side of the limit. So are facts
/// that only reports show, and the operators, dtypes and elements of verdicts that conform.
const std::set<std::string> kOnItsOwnWord = {"declared end/seconds",
                                             "declared run/arguments",
                                             "declared run/directory",
                                             "declared run/jobs",
                                             "declared run/started",
                                             "declared verdict/dtypes",
                                             "declared verdict/eager_digest",
                                             "declared verdict/execution",
                                             "declared verdict/operators",
                                             "declared verdict/outputs/elements",
                                             "declared verdict/outputs/name",
                                             "declared verdict/outputs/policy",
                                             "declared verdict/outputs/type",
                                             "declared verdict/proof/graphs",
                                             "declared verdict/seconds",
                                             "declared verdict/stage",
                                             "end/seconds",
                                             "run/arguments",
                                             "run/directory",
                                             "run/jobs",
                                             "run/repeated_part/percent",
                                             "run/started",
                                             "verdict/differences/reason",
                                             "verdict/dtypes",
                                             "verdict/eager_digest",
                                             "verdict/expectation/file",
                                             "verdict/operators",
                                             "verdict/outputs/checks/measured",
                                             "verdict/outputs/compiled",
                                             "verdict/outputs/eager",
                                             "verdict/outputs/elements",
                                             "verdict/outputs/heat/columns",
                                             "verdict/outputs/heat/differing",
                                             "verdict/outputs/heat/greatest",
                                             "verdict/outputs/heat/rows",
                                             "verdict/outputs/grading/measured",
                                             "verdict/outputs/max_abs",
                                             "verdict/outputs/max_rel",
                                             "verdict/outputs/max_ulp",
                                             "verdict/outputs/name",
                                             "verdict/outputs/policy",
                                             "verdict/outputs/reason",
                                             "verdict/outputs/type",
                                             "verdict/outputs/ulp_histogram",
                                             "verdict/outputs/worst",
                                             "verdict/proof/graphs",
                                             "verdict/reason",
                                             "verdict/seconds",
                                             "verdict/stage"};

/// Every value of every line of both logs, changed, with the digests written anew: either it is
/// found, or it is among what only a signature speaks for.
TEST(Tampering, EveryValueOfALog) {
  std::set<std::string> unnoticed;
  std::size_t tried = 0, found = 0;
  for (const char* name : {"run.jsonl.gz", "declared.jsonl.gz"}) {
    const std::vector<std::string> lines = lines_of(text_of(name));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      Json record = Json::parse(lines[i]);
      const std::string type = record["type"];
      each_leaf(record, name[0] == 'r' ? type : "declared " + type,
                [&](Json& leaf, const std::string& keys) {
                  const Json before = leaf;
                  leaf = other_than(before);
                  std::vector<std::string> other = lines;
                  other[i] = record.dump() + "\n";
                  ++tried;
                  if (passes(repaired(name, [&](std::string& text) { text = joined(other); }))) {
                    unnoticed.insert(keys);
                  } else {
                    ++found;
                  }
                  leaf = before;
                });
    }
  }
  EXPECT_GT(tried, 500U);
  std::string others;
  for (const std::string& keys : unnoticed)
    others += kOnItsOwnWord.contains(keys) ? "" : keys + "\n";
  EXPECT_EQ(others, "") << "only the digests find these";
  for (const std::string& keys : kOnItsOwnWord) EXPECT_TRUE(unnoticed.contains(keys)) << keys;
  std::printf("%zu values changed with the digests, %zu of them found\n", tried, found);
}

/// The same of all that is no log: each is the suite's, or told again.
TEST(Tampering, EveryValueOfTheOtherFiles) {
  for (const char* name :
       {"level.json", "path.json", "certification.json", "waivers/0.json", "statement.json"}) {
    Json document = Json::parse(text_of(name));
    each_leaf(document, name, [&](Json& leaf, const std::string& keys) {
      const Json before = leaf;
      leaf = other_than(before);
      EXPECT_FALSE(passes(repaired(name, [&](std::string& text) {
        text = document.dump(1) + "\n";
      }))) << keys;
      leaf = before;
    });
  }
}

}  // namespace
}  // namespace lockstep
