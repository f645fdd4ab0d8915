#include "requests/decode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr char kMark = '\x01';  // no name has it

/// The words after the value of a --path or a --device, up to the next option.
struct FollowingWords {
  bool of_devices = false;
  std::vector<std::string> words;
};

/// Takes the words after --path and --device out of the arguments, and leaves a mark.
std::vector<std::string> take_following(const std::vector<std::string>& arguments,
                                        const std::map<std::string, Choice*>& choices,
                                        std::vector<FollowingWords>& following) {
  const auto selects = [&](const std::string& word) { return choices.contains(word); };
  std::vector<std::string> left;
  const bool any_selects = std::any_of(arguments.begin(), arguments.end(), selects);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    left.push_back(word);
    if (!any_selects) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (flag != "--path" && flag != "--device") continue;
    if (flag == word && i + 1 < arguments.size()) left.push_back(arguments[++i]);
    FollowingWords list{flag == "--device", {}};
    while (i + 1 < arguments.size() && !arguments[i + 1].starts_with('-') &&
           !selects(arguments[i + 1]))
      list.words.push_back(arguments[++i]);
    if (list.words.empty()) continue;
    left.push_back(kMark + std::to_string(following.size()));
    following.push_back(std::move(list));
  }
  return left;
}

/// Puts them where the marks are not.
void put_following(const std::vector<FollowingWords>& following, Choice& choice) {
  std::erase_if(choice.select, [](const std::string& word) { return word.starts_with(kMark); });
  for (const FollowingWords& list : following)
    (list.of_devices ? choice.after_devices : choice.after_paths).push_back(list.words);
}

/// Puts the words that were behind the values of a flag there again.
void put_behind(FlagWords& flag, const std::vector<std::vector<std::string>>& after) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < flag.words.size(); ++i) {
    words.push_back(flag.words[i]);
    const bool is_value = flag.words[i].find('=') != std::string::npos || i % 2 == 1;
    if (is_value && i / 2 < after.size())
      words.insert(words.end(), after[i / 2].begin(), after[i / 2].end());
  }
  flag.words = std::move(words);
}

/// What is not by default, of flags that are registered for both.
std::vector<FlagWords> differing(const Basis& basis, const Flags& now, const Flags& fallback) {
  std::vector<FlagWords> said = now.words(), unsaid = fallback.words(), differing;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said[i].words == unsaid[i].words) continue;
    if (said[i].name == "--path") put_behind(said[i], basis.choice.after_paths);
    if (said[i].name == "--device") put_behind(said[i], basis.choice.after_devices);
    differing.push_back(std::move(said[i]));
  }
  return differing;
}

/// Shows the flags of a request, and those of one by default beside them.
template <class Request, class Show>
auto beside_defaults(const Request& request, Show show) {
  CLI::App one, other;
  Request now = request, fallback;
  Flags flags(one, {}), defaults(other, {});
  add_flags(flags, now);
  add_flags(defaults, fallback);
  return show(basis_of(now), flags, defaults);
}

template <class Request>
std::vector<std::string> printed(const char* name, const Request& request) {
  return beside_defaults(request, [&](const Basis& basis, const Flags& now, const Flags& fallback) {
    return words_of(name, basis, now, fallback);
  });
}

}  // namespace

void add_common(CLI::App& app, Surroundings& at) {
  app.add_option("--suite", at.suite,
                 "The folder of a suite of your own: cases/, and if you like expected/ and paths/ "
                 "(default: Lockstep's)")
      ->type_name("DIR");
  app.add_option("--color", at.color, "When the output has colours: auto, always or never")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "always", "never"}))
      ->type_name("WHEN");
  app.require_subcommand(1);
  app.fallthrough();
}

void parse_words(CLI::App& app, const std::vector<std::string>& words,
                 const std::map<std::string, Choice*>& choices) {
  std::vector<FollowingWords> following;
  std::vector<std::string> left = take_following(words, choices, following);
  std::reverse(left.begin(), left.end());  // as CLI11 wants them
  app.parse(std::move(left));
  const auto chosen = choices.find(app.get_subcommands().front()->get_name());
  if (chosen != choices.end()) put_following(following, *chosen->second);
}

std::vector<std::string> words_of(const std::string& command, const Basis& basis, const Flags& now,
                                  const Flags& fallback) {
  std::vector<std::string> words = {command};
  for (const FlagWords& flag : differing(basis, now, fallback))
    words.insert(words.end(), flag.words.begin(), flag.words.end());
  if (basis.at.own_suite || basis.at.suite != basis.at.home)
    words.insert(words.end(), {"--suite", fs::absolute(basis.at.suite).string()});
  if (basis.at.color != Surroundings().color)
    words.insert(words.end(), {"--color", basis.at.color});
  return words;
}

std::vector<std::string> words_of(const RunRequest& request) { return printed("run", request); }
std::vector<std::string> words_of(const PackRequest& request) { return printed("pack", request); }
std::vector<std::string> words_of(const ReplayRequest& request) {
  return printed("replay", request);
}
std::vector<std::string> words_of(const CertifyRequest& request) {
  return printed("certify", request);
}
std::vector<std::string> words_of(const VerifyRequest& request) {
  return printed("verify", request);
}

std::vector<FlagWords> flags_of(const RunRequest& request) {
  return beside_defaults(request, differing);
}

std::string repeat_options(const Basis& basis) {
  RunRequest run;
  run.basis = basis;
  run.basis.choice = {};
  run.basis.choice.relations = basis.choice.relations;
  run.basis.no_cache = false;
  run.basis.pace.jobs = 0;
  run.basis.at.color = Surroundings().color;
  std::string options;
  const std::vector<std::string> words = words_of(run);
  for (std::size_t i = 1; i < words.size(); ++i) options += " " + shell_quote(words[i]);
  return options;
}

Result<RunRequest> decode_run(const std::vector<std::string>& words, Surroundings where) {
  RunRequest request;
  const fs::path directory = where.directory;
  Surroundings& at = request.basis.at;
  at = std::move(where);
  CLI::App app;
  add_common(app, at);
  Flags flags(*app.add_subcommand("run"), directory);
  add_flags(flags, request);
  try {
    parse_words(app, words, {{"run", &request.basis.choice}});
  } catch (const CLI::ParseError& error) {
    return fail(fmt::format("found the arguments {}, expected those of a run: {}",
                            fmt::join(words, " "), error.what()));
  }
  complete(at);
  for (fs::path* file : {&at.home, &at.suite, &at.cache, &request.basis.choice.from}) {
    if (!file->empty()) *file = directory / *file;
  }
  return request;
}

Result<RunRequest> decode_run(const std::vector<std::string>& words, const fs::path& directory) {
  return decode_run(words, surroundings_of_environment(directory));
}

}  // namespace lockstep
