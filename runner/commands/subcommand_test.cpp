#include "commands/subcommand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

/// A value that an option takes, and that is not what it has by default.
std::string sample_of(const CLI::Option& option) {
  static const std::map<std::string, std::string> kSamples = {{"N", "2"},
                                                              {"S", "7"},
                                                              {"SECONDS", "8"},
                                                              {"GIB", "3"},
                                                              {"PERCENT", "5"},
                                                              {"SEED", "11"},
                                                              {"NUMBER/OF", "2/5"},
                                                              {"CLUSTER", "dask"},
                                                              {"DIR", "folder"},
                                                              {"FILE", "file"},
                                                              {"FILE|DIR", "folder"},
                                                              {"LOG", "log"},
                                                              {"LEVEL", "deep"},
                                                              {"PATH", "path"},
                                                              {"DEVICE", "device"},
                                                              {"ARCHIVE", "archive"},
                                                              {"KEY", "key"},
                                                              {"ID", "id"},
                                                              {"OPERATOR", "add"},
                                                              {"TRANSITION", "mended"},
                                                              {"WHEN", "always"},
                                                              {"SELECT", "bugs/*"},
                                                              {"SHARD", "shard"},
                                                              {"NUMBER", "185337"},
                                                              {"SHELL", "bash"},
                                                              {"NAME", "name"},
                                                              {"PROGRAM", "model.py"},
                                                              {"OLD", "old"},
                                                              {"NEW", "new"},
                                                              {"RUN", "run"},
                                                              {"FINGERPRINT", "to:value"},
                                                              {"GOOD", "2.12"},
                                                              {"BAD", "2.13"},
                                                              {"URL", "file:///index"},
                                                              {"NAME|FILE.py", "ops.py"}};
  std::string type = option.get_type_name();
  type = type.substr(0, type.find(':'));
  const auto found = kSamples.find(option.get_positional() ? option.get_name() : type);
  if (found != kSamples.end()) return found->second;
  ADD_FAILURE() << option.get_name() << " takes a " << type << ", of which there is no sample here";
  return "1";
}

/// The words that say an option, and what it needs besides.
std::vector<std::string> words_with(const CLI::Option& option) {
  std::vector<std::string> words;
  if (option.get_positional()) {
    words = {sample_of(option)};
  } else if (option.get_items_expected_max() == 0) {
    words = {option.get_name()};
  } else if (option.get_items_expected_min() == 0) {
    words = {option.get_name() + "=" + sample_of(option)};
  } else {
    words = {option.get_name(), sample_of(option)};
  }
  for (const CLI::Option* needed : option.get_needs()) {
    const auto more = words_with(*needed);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

/// What a command line says, as it is printed.
std::vector<std::string> printed(const std::vector<std::string>& words) {
  CommandLine line = read_command_line(words);
  EXPECT_TRUE(line.asked) << fmt::format("{}: {}", fmt::join(words, " "), line.text);
  if (!line.asked) return {};
  return words_of(*line.subcommand, *line.asked);
}

TEST(Subcommands, EveryFlagIsPrintedAsWhatItIsReadFrom) {
  CommandLineApp line;
  std::size_t flags = 0;
  for (const CLI::App* command : line.app().get_subcommands({})) {
    std::vector<std::string> least = {command->get_name()};
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_required()) continue;
      const auto more = words_with(*option);
      least.insert(option->get_positional() ? least.begin() + 1 : least.end(), more.begin(),
                   more.end());
    }
    const auto nothing = printed(least);
    EXPECT_EQ(printed(nothing), nothing);
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_name() == "--help" || option->get_required()) continue;
      std::vector<std::string> words = least;
      const auto more = words_with(*option);
      words.insert(words.end(), more.begin(), more.end());
      const auto once = printed(words);
      EXPECT_NE(once, nothing) << fmt::format("{}", fmt::join(words, " ")) << " is not printed";
      EXPECT_EQ(printed(once), once);
      ++flags;
    }
  }
  EXPECT_GT(flags, 150U);
}

TEST(Subcommands, EachExampleMeansSomething) {
  const auto means_something = [](std::string words) {
    words = words.substr(words.find("lockstep ") + 9);
    words = words.substr(0, words.find_first_of("|>)"));
    const CommandLine line = read_command_line(CLI::detail::split_up(words));
    EXPECT_TRUE(line.asked) << words << ": " << line.text;
  };
  for (const CommandExample& example : general_examples()) means_something(example.words);
  for (const Subcommand& row : subcommands()) {
    const std::string name = row.name;
    EXPECT_EQ(row.examples.size(), name == "serve" ? 0U : 3U) << name;
    for (const CommandExample& example : row.examples) {
      EXPECT_NE(std::string(example.words).find("lockstep " + name), std::string::npos) << name;
      means_something(example.words);
    }
  }
}

TEST(Subcommands, NoLineOfHelpIsWiderThan100Columns) {
  std::vector<std::vector<std::string>> all = {{"--help"}};
  for (const Subcommand& row : subcommands()) all.push_back({row.name, "--help"});
  for (const std::vector<std::string>& words : all) {
    std::istringstream help(read_command_line(words).text);
    for (std::string line; std::getline(help, line);)
      EXPECT_LE(line.size(), 100U) << words.front() << ": " << line;
  }
}

TEST(Subcommands, WhatAllHaveInCommonIsPrinted) {
  const std::vector<std::string> words = {"list", "--suite", "/suite", "--color", "always"};
  EXPECT_EQ(printed(words), words);
}

TEST(Subcommands, AFlagThatNobodyPrintsIsSeen) {
  // What the test of every flag rests on: the same words for a request with and without a flag.
  CLI::App app;
  RunRequest request;
  Flags flags(app, "/");
  app.add_flag("--unprinted", request.save_tensors);
  EXPECT_TRUE(flags.words().empty());
}

TEST(Subcommands, EachHasANameAndSaysWhatItDoes) {
  std::vector<std::string> names;
  for (const Subcommand& row : subcommands()) {
    EXPECT_FALSE(std::count(names.begin(), names.end(), row.name)) << row.name;
    EXPECT_GT(std::string(row.about).size(), 20U);
    names.emplace_back(row.name);
  }
}

}  // namespace
}  // namespace lockstep
