#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"

namespace lockstep {

// Documents and JSON Schemas hold copies of the tables in the code.  These tests hold them equal;
// LOCKSTEP_RENEW=1 writes the copies anew, which CI may not.

/// A file of the source tree, relative to its root.
inline std::string read_source(const char* file) {
  const auto text = read_file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / file);
  EXPECT_TRUE(text) << file;
  return text ? *text : std::string();
}

/// With LOCKSTEP_RENEW writes the file; else fails, with what stands there and what should.
inline void expect_copy(const char* file, const std::string& whole, const std::string& found,
                        const std::string& expected) {
  if (found == expected) return;
  if (std::getenv("LOCKSTEP_RENEW") == nullptr) {
    EXPECT_EQ(found, expected) << file << " is not as the table in the code: LOCKSTEP_RENEW=1 "
                               << "writes it anew";
    return;
  }
  ASSERT_EQ(std::getenv("CI"), nullptr) << "LOCKSTEP_RENEW is for people: read the diff first";
  EXPECT_TRUE(write_file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / file, whole));
}

/// The Markdown table that begins with the line `header` has these rows, each without its newline.
inline void expect_table(const char* file, const std::string& header,
                         const std::vector<std::string>& rows) {
  const std::string text = read_source(file);
  const std::size_t at = text.find(header + "\n|");
  ASSERT_NE(at, std::string::npos) << file << " has no table \"" << header << "\"";
  const std::size_t begin = text.find('\n', at + header.size() + 1) + 1;  // past the line of dashes
  std::size_t end = begin;
  while (end < text.size() && text[end] == '|') end = text.find('\n', end) + 1;
  std::string expected;
  for (const std::string& row : rows) expected += row + "\n";
  expect_copy(file, text.substr(0, begin) + expected + text.substr(end),
              text.substr(begin, end - begin), expected);
}

/// A JSON file of the source tree has this at a pointer.
inline void expect_json(const char* file, const char* pointer, const Json& expected) {
  Json document = Json::parse(read_source(file), nullptr, false);
  const Json::json_pointer at(pointer);
  ASSERT_TRUE(document.contains(at)) << file << " has no " << pointer;
  const std::string found = document[at].dump(1);
  document[at] = expected;
  expect_copy(file, document.dump(1) + "\n", found, expected.dump(1));
}

}  // namespace lockstep
