#include "reports/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

Terminal with(std::map<std::string, std::string> variables, bool is_terminal = true) {
  Terminal terminal;
  terminal.out_is_terminal = terminal.err_is_terminal = is_terminal;
  terminal.environment = [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  return terminal;
}

bool colored(const Terminal& terminal, ColorChoice choice = ColorChoice::automatic) {
  return use_color(terminal, terminal.out_is_terminal, choice);
}

TEST(UseColor, FollowsTheTerminalUnlessToldOtherwise) {
  EXPECT_TRUE(colored(with({})));
  EXPECT_FALSE(colored(with({}, false)));
  EXPECT_FALSE(colored(with({{"TERM", "dumb"}})));
  EXPECT_FALSE(colored(with({{"NO_COLOR", "1"}})));
  EXPECT_TRUE(colored(with({{"CLICOLOR_FORCE", "1"}}, false)));
  EXPECT_FALSE(colored(with({{"CLICOLOR_FORCE", "0"}}, false)));
  EXPECT_FALSE(colored(with({{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}})));
  EXPECT_TRUE(colored(with({{"NO_COLOR", "1"}}, false), ColorChoice::always));
  EXPECT_FALSE(colored(with({{"CLICOLOR_FORCE", "1"}}), ColorChoice::never));
}

TEST(UseColor, IsToldByTheWordsOfTheOption) {
  EXPECT_EQ(color_choice("auto"), ColorChoice::automatic);
  EXPECT_EQ(color_choice("always"), ColorChoice::always);
  EXPECT_EQ(color_choice("never"), ColorChoice::never);
}

TEST(UseLiveLine, OnlyOnTerminalsOfPeople) {
  EXPECT_TRUE(use_live_line(with({{"TERM", "xterm"}})));
  EXPECT_FALSE(use_live_line(with({}, false)));
  EXPECT_FALSE(use_live_line(with({{"TERM", "dumb"}})));
  EXPECT_FALSE(use_live_line(with({{"CI", "true"}})));
}

}  // namespace
}  // namespace lockstep
