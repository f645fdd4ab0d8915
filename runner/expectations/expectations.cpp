#include "expectations/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/cpu.h"
#include "base/files.h"
#include "base/reader.h"
#include "base/text.h"
#include "cases/case.h"
#include "paths/globs.h"
#include "plan/names.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

std::string trimmed(const std::string& text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

/// What torch calls the levels of its kernels, in lower case.
const std::vector<std::string> kCpuLevels = {"default", "no avx",   "avx2",   "avx512",
                                             "vsx",     "z vector", "sve128", "sve256"};

/// A day of the calendar, written "2026-11-21".
bool valid_date(const std::string& text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((i == 4 || i == 7) ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  }
  return std::chrono::year_month_day(
             std::chrono::year(std::stoi(text.substr(0, 4))),
             std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
             std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8)))))
      .ok();
}

/// A fingerprint must name operators: `*:value` would hide anything.
void check_fingerprint(Reader& reader, const Node& node, const std::string& fingerprint) {
  const std::size_t colon = fingerprint.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == fingerprint.size()) {
    reader.mismatch(node, "a fingerprint as a run names it, such as \"softshrink:eager-nan\"");
  } else if (has_wildcard(operators_of(fingerprint))) {
    reader.mismatch(node, "a fingerprint whose operators are named; a glob may follow the colon");
  }
}

std::vector<std::string> rule_globs(Reader& reader, const Node& node, std::string_view key,
                                    bool needed, std::string_view what) {
  const auto list = needed ? reader.required(node, key, what) : reader.child(node, key);
  if (!list) return {};
  std::vector<std::string> globs = reader.texts(*list, "a list of globs");
  if ((*list)->is_array() && (*list)->empty()) reader.mismatch(*list, "at least one");
  return globs;
}

std::string rule_text(Reader& reader, const Node& node, std::string_view key, bool needed,
                      std::string_view what) {
  const auto value = needed ? reader.required(node, key, what) : reader.child(node, key);
  return value ? reader.text(*value).value_or("") : std::string();
}

/// The verdicts that a rule is about.
void decode_subject(Reader& reader, const Node& node, const ValidNames& names, bool by_fingerprint,
                    Expectation& rule) {
  rule.instances = rule_globs(reader, node, "instances", !by_fingerprint,
                              "ids of cases or instances, globs allowed");
  rule.fingerprints = rule_globs(reader, node, "fingerprints", false, "");
  reader.each_text(reader.child(node, "fingerprints"),
                   [&](const Node& item, const std::string& fingerprint) {
                     check_fingerprint(reader, item, fingerprint);
                   });
  rule.paths =
      rule_globs(reader, node, "paths", true, "names of paths; globs allowed, `!glob` excludes");
  rule.devices = rule_globs(reader, node, "devices", false, "");
  rule.cpu_levels = rule_globs(reader, node, "cpu_levels", false, "");
  rule.cpu_features = rule_globs(reader, node, "cpu_features", false, "");
  reader.each_text(reader.child(node, "paths"), [&](const Node& item, const std::string& name) {
    check_path(reader, names, item.pointer, name);
  });
  reader.each_text(reader.child(node, "devices"), [&](const Node& item, const std::string& name) {
    check_device(reader, names, item.pointer, name);
  });
  reader.each_text(reader.child(node, "cpu_levels"), [&](const Node& item, const std::string&) {
    reader.word(item, kCpuLevels, "a CPU level as torch names it, in lower case");
  });
  reader.each_text(reader.child(node, "cpu_features"), [&](const Node& item, std::string name) {
    if (name.starts_with('!')) name.erase(0, 1);
    if (!contains(all_cpu_features(), name))
      reader.error(item.pointer,
                   fmt::format("found `{}`, expected a feature of a CPU, or one after `!`: {}",
                               name, enumerate(all_cpu_features())),
                   suggestion(name, all_cpu_features()));
  });
}

/// Where else it holds only: what the machine says of itself, the torch, how it is executed.
void decode_circumstances(Reader& reader, const Node& node, bool by_fingerprint,
                          Expectation& rule) {
  if (const auto facts = reader.child(node, "environment")) {
    if (!(*facts)->is_object() || (*facts)->empty()) {
      reader.mismatch(*facts,
                      "an object of globs by what the log's environment calls it, such as "
                      "{\"cuda:0\": \"*H100*\"}");
    } else {
      for (const auto& [name, value] : (*facts)->items()) {
        if (const auto glob = reader.text({&value, child_pointer(facts->pointer, name)}, "a glob"))
          rule.environment[name] = *glob;
      }
    }
  }
  rule.torch = rule_text(reader, node, "torch", by_fingerprint,
                         "of which releases the fingerprint is known");
  if (!rule.torch.empty() && !valid_range(rule.torch))
    reader.mismatch(*reader.child(node, "torch"), "a range such as \">=2.12,<2.14\"");
  if (const auto through = reader.child(node, "through"))
    rule.through_aot = reader.word(*through, {"aot"}, "`aot`").has_value();
  if (const auto flake = reader.child(node, "flake"))
    rule.flake = reader.boolean(*flake).value_or(false);
}

/// What it expects to happen, and who says that this is known.
void decode_expected(Reader& reader, const Node& node, bool by_fingerprint, Expectation& rule) {
  if (const auto said = reader.child(node, "status"); by_fingerprint && said)
    reader.mismatch(*said, "no status beside `fingerprints`: they say what is expected to happen");
  if (const auto status = by_fingerprint
                              ? std::nullopt
                              : reader.required(node, "status", "what is expected to happen")) {
    std::vector<std::string> words;
    for (const StatusInfo& each : all_statuses()) {
      if (each.expectable()) words.emplace_back(each.name);
    }
    if (const auto word = reader.word(*status, words, "a status that says what is wrong"))
      rule.status = find_status(*word)->status;
  }
  if (const auto grade = reader.child(node, "grade")) {
    if (const auto word = reader.text(*grade)) {
      rule.grade = find_grade(*word);
      if (!rule.grade) reader.mismatch(*grade, "a grade: " + enumerate(grade_names(), "or"));
    }
  }
  if (const auto waived = reader.child(node, "waived"))
    rule.waived = reader.boolean(*waived).value_or(false);
  if (const auto because = reader.required(node, "because", enumerate(because_names(), "or"))) {
    if (const auto word = reader.word(*because, because_names(), enumerate(because_names(), "or")))
      rule.because = *find_because(*word);
  }
}

/// What a reader of the report needs: reason, link and date.
void decode_sources(Reader& reader, const Node& node, Expectation& rule) {
  rule.reason = trimmed(rule_text(reader, node, "reason", true, "why it is known, in a sentence"));
  if (const auto reason = reader.child(node, "reason");
      reason && (*reason)->is_string() && rule.reason.empty()) {
    reader.mismatch(*reason, "a sentence: an expectation without a reason is none");
  }
  rule.finding = rule_text(reader, node, "finding", false, "");
  if (rule.flake && rule.because == Because::unreported)
    reader.mismatch(*reader.child(node, "flake"),
                    "no flake that is unreported: what happens now and then needs a link");
  // What nobody has reported yet has no link.
  rule.link =
      rule_text(reader, node, "link", rule.because != Because::unreported, "the report or thread");
  if (!rule.link.empty() && !rule.link.starts_with("https://"))
    reader.mismatch(*reader.child(node, "link"), "a link that begins with https://");
  rule.example = rule_text(reader, node, "example", false, "");
  rule.searched = trimmed(rule_text(reader, node, "searched", !rule.example.empty(),
                                    "which public reports were looked through"));
  if (const auto example = reader.child(node, "example");
      example && rule.because != Because::unreported)
    reader.mismatch(*example,
                    "no example where there is a report: it is a case of its own in bugs/");
  rule.date =
      rule_text(reader, node, "date", true, "the day it was verified, such as \"2026-11-21\"");
  if (const auto date = reader.child(node, "date");
      date && (*date)->is_string() && !valid_date(rule.date))
    reader.mismatch(*date, "a day such as \"2026-11-21\"");
  rule.expires = rule_text(reader, node, "expires", false, "");
  if (!rule.expires.empty() && !valid_date(rule.expires))
    reader.mismatch(*reader.child(node, "expires"), "a day such as \"2026-11-21\"");
}

/// Decodes one rule; everything that a reader of the report needs is demanded.
std::optional<Expectation> decode_rule(Reader& reader, const Node& node, int line,
                                       const ValidNames& names) {
  const int before = reader.failures();
  if (!reader.object(
          node, {"instances",    "fingerprints", "paths",      "devices", "torch",   "cpu_levels",
                 "cpu_features", "through",      "flake",      "status",  "grade",   "waived",
                 "because",      "reason",       "finding",    "link",    "example", "searched",
                 "date",         "expires",      "environment"})) {
    return std::nullopt;
  }
  Expectation rule;
  rule.where = fmt::format("{}:{}", reader.file().name, line);
  const bool by_fingerprint = reader.child(node, "fingerprints").has_value();
  decode_subject(reader, node, names, by_fingerprint, rule);
  decode_circumstances(reader, node, by_fingerprint, rule);
  decode_expected(reader, node, by_fingerprint, rule);
  decode_sources(reader, node, rule);
  return reader.failures() == before ? std::optional(std::move(rule)) : std::nullopt;
}

std::string describe(const Expectation& rule) {
  if (rule.fingerprints.empty())
    return fmt::format("{} on {}: {}", enumerate(rule.instances), enumerate(rule.paths),
                       info(rule.status).name);
  return fmt::format("{} on {}{}", enumerate(rule.fingerprints), enumerate(rule.paths),
                     rule.instances.empty() ? "" : " of " + enumerate(rule.instances));
}

}  // namespace

std::vector<Expectation> decode_expectations(const JsonFile& file, const ValidNames& names,
                                             Diagnostics& diagnostics) {
  std::vector<Expectation> rules;
  Reader reader(file, diagnostics);
  const Node document{&file.root, ""};
  if (!reader.object(document, {"$schema", "format", "known"})) return rules;
  reader.format(document, kExpectationsFormat);
  const auto known = reader.required(document, "known", "a list of expectations");
  if (!known || !reader.list(*known, "a list of expectations")) return rules;
  const std::vector<int> lines = lines_of_elements(file.text, known->pointer);
  for (std::size_t i = 0; i < (*known)->size(); ++i) {
    if (auto rule = decode_rule(reader, reader.element(*known, i), lines.at(i), names))
      rules.push_back(std::move(*rule));
  }
  return rules;
}

std::vector<Expectation> read_expectations(const fs::path& root, const std::vector<fs::path>& added,
                                           const ValidNames& names, Diagnostics& diagnostics) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / "expected" / "known", error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Expectation> rules;
  const auto read = [&](const fs::path& path, const std::string& shown, bool is_added) {
    const auto file = read_json(path, shown, diagnostics);
    if (!file) return;
    for (Expectation& rule : decode_expectations(*file, names, diagnostics)) {
      rule.added = is_added;
      rules.push_back(std::move(rule));
    }
  };
  for (const fs::path& path : files)
    read(path, path.lexically_relative(root).generic_string(), false);
  for (const fs::path& path : added) read(path, path.generic_string(), true);
  return rules;
}

namespace {

/// Those that hold with this torch and in this environment: the same for every verdict.
std::vector<Expectation> held(std::vector<Expectation> rules,
                              const ExpectationConditions& conditions) {
  std::erase_if(rules, [&](const Expectation& rule) {
    const auto differs = [&](const auto& asked) {
      const auto fact = conditions.environment.find(asked.first);
      return fact == conditions.environment.end() || !glob_match(asked.second, fact->second);
    };
    return !version_matches(conditions.torch, rule.torch) ||
           std::any_of(rule.environment.begin(), rule.environment.end(), differs);
  });
  return rules;
}

}  // namespace

Expectations::Expectations(std::vector<Expectation> rules, ExpectationConditions conditions)
    : rules_(held(std::move(rules), conditions)),
      met_{std::vector<bool>(rules_.size(), false), std::vector<bool>(rules_.size(), false)},
      conditions_(std::move(conditions)) {}

bool Expectations::holds_here(const Expectation& rule, const std::string& path) const {
  const auto own = conditions_.cpu_of_paths.find(path);
  const bool has_own = own != conditions_.cpu_of_paths.end();
  const std::string& level = has_own ? own->second.level : conditions_.cpu_level;
  const std::vector<std::string>& features =
      has_own ? own->second.features : conditions_.cpu_features;
  if (!rule.cpu_levels.empty() && !contains(rule.cpu_levels, level)) return false;
  return std::all_of(rule.cpu_features.begin(), rule.cpu_features.end(), [&](std::string feature) {
    const bool wanted = !feature.starts_with('!');
    if (!wanted) feature.erase(0, 1);
    return contains(features, feature) == wanted;
  });
}

bool Expectations::is_over(const Expectation& rule) const {
  return !rule.expires.empty() && conditions_.today > rule.expires;
}

bool names(const Expectation& rule, std::string_view instance, std::string_view case_id) {
  return any_glob_matches(rule.instances, instance) ||
         any_glob_matches(rule.instances, instance.substr(0, instance.rfind('@'))) ||
         any_glob_matches(rule.instances, case_id);
}

namespace {

/// Whether a rule means a path itself: what diverges on a path need not diverge on its variants
/// (`inductor.avx2`), so only a rule that names these can say that it is gone there.
bool names_path(const Expectation& rule, const std::string& path) {
  return path.find('.') == std::string::npos ||
         std::any_of(rule.paths.begin(), rule.paths.end(), [&](const std::string& glob) {
           return glob.find('.') != std::string::npos && glob_match(glob, path);
         });
}

}  // namespace

bool Expectations::is_about(const Expectation& rule, const CaseFacts& facts,
                            const std::string& case_id) const {
  return holds_here(rule, facts.path) && paths_take(rule.paths, facts.path) &&
         devices_take(rule.devices, facts.device) &&
         (rule.instances.empty() || names(rule, facts.instance, case_id));
}

bool Expectations::expects_failure(const CaseFacts& facts, const std::string& case_id) const {
  const std::string operators = operators_of(facts.operators, facts.instance);
  const auto ends_it = [&](const std::string& fingerprint) {
    return is_of_an_end(fingerprint) &&
           glob_match(std::string(operators_of(fingerprint)), operators);
  };
  return std::any_of(rules_.begin(), rules_.end(), [&](const Expectation& rule) {
    if (rule.flake || !is_about(rule, facts, case_id)) return false;
    return rule.fingerprints.empty() ||
           std::any_of(rule.fingerprints.begin(), rule.fingerprints.end(), ends_it);
  });
}

Expectations::Meeting Expectations::meet(const CaseFacts& facts, const Findings& found,
                                         const std::string& case_id, Met& met) const {
  const std::vector<Fingerprint> fingerprints = fingerprints_of(facts, found);
  const auto bears = [](const Expectation& rule, const std::optional<Grade>& grade) {
    return !rule.grade || !grade || *grade <= *rule.grade;
  };
  // A rule about a status applies to any fingerprint.
  const auto expects = [&](const Expectation& rule, const Fingerprint& fingerprint) {
    return rule.fingerprints.empty() ? rule.status == found.status && bears(rule, found.grade)
                                     : any_glob_matches(rule.fingerprints, fingerprint.name) &&
                                           bears(rule, fingerprint.grade);
  };
  Meeting meeting{std::vector<const Expectation*>(fingerprints.size(), nullptr), nullptr};
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Expectation& rule = rules_[i];
    if (!is_about(rule, facts, case_id)) continue;
    // Also where it is not about how this path compiled.
    met.seen[i] = met.seen[i] || rule.fingerprints.empty() || rule.flake;
    if (rule.through_aot && !found.through_aot) continue;
    if (rule.flake && !found.unstable) continue;
    const bool over = is_over(rule);
    for (std::size_t k = 0; k < fingerprints.size(); ++k) {
      if (!expects(rule, fingerprints[k])) continue;
      met.seen[i] = met.happened[i] = true;
      if (!over && meeting.known[k] == nullptr) meeting.known[k] = &rule;
    }
    if (!over && meeting.whole == nullptr && rule.fingerprints.empty() && !rule.flake &&
        names_path(rule, facts.path))
      meeting.whole = &rule;
  }
  return meeting;
}

namespace {

/// What an account says of the rule that it shows; `known` are all that are needed beside it.
ExpectationRef shown(const Expectation& rule, const std::vector<const Expectation*>& known,
                     Status status) {
  const auto is_added = [](const Expectation* each) { return each != nullptr && each->added; };
  const auto every_path = [](const Expectation* each) {
    return each == nullptr || contains(each->paths, "*");
  };
  return {rule.where, status, rule.because, rule.reason, rule.link,
          // What the suite alone would not know.
          rule.added || std::any_of(known.begin(), known.end(), is_added),
          every_path(&rule) && std::all_of(known.begin(), known.end(), every_path)};
}

}  // namespace

void Expectations::apply(const CaseFacts& facts, const Findings& found, const std::string& case_id,
                         Account& account) {
  give_standing(meet(facts, found, case_id, met_), found.status, account);
}

void Expectations::tell(const CaseFacts& facts, const Findings& found, const std::string& case_id,
                        Account& account) const {
  Met met = met_;
  give_standing(meet(facts, found, case_id, met), found.status, account);
}

void Expectations::give_standing(const Meeting& meeting, Status status, Account& account) {
  const auto& [known, whole] = meeting;
  account.standing = Standing::new_;
  account.expectation.reset();
  if (!known.empty() && std::find(known.begin(), known.end(), nullptr) == known.end()) {
    const bool waived = std::all_of(known.begin(), known.end(),
                                    [](const Expectation* rule) { return rule->waived; });
    account.standing = waived ? Standing::waived : Standing::known;
    account.expectation = shown(*known.front(), known, status);
  } else if (whole != nullptr && status == Status::conform) {
    account.standing = Standing::fixed;
    account.expectation = shown(*whole, known, whole->status);
  }  // else it diverges in another way than was expected
}

std::vector<UnmatchedExpectation> Expectations::unmatched(const ExpectationScope& scope) const {
  const auto matches_any = [](const std::vector<std::string>& globs,
                              const std::vector<std::string>& texts) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return globs_take(globs, text); });
  };
  /// Whether the run took everything that the rule could match.
  const auto covered = [&](const Expectation& rule) {
    const bool somewhere =
        matches_any(rule.paths, scope.paths) && matches_any(rule.devices, scope.devices);
    if (!somewhere) return false;
    if (scope.whole_suite) return true;
    // Everything that it names in the suite must be in the run. If it names nothing, or only
    // fingerprints, a part of the suite cannot decide.
    bool any = false;
    for (const ExpectationScope::Instance& each : scope.instances) {
      if (!names(rule, each.id, each.case_id)) continue;
      any = true;
      if (!each.ran) return false;
    }
    return any;
  };
  std::vector<UnmatchedExpectation> result;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Expectation& rule = rules_[i];
    if (!met_.seen[i] && !(holds_here(rule) && covered(rule))) continue;
    if (is_over(rule)) {
      result.push_back(
          {rule.where, describe(rule) + fmt::format(": expired on {}{}", rule.expires,
                                                    met_.happened[i] ? "" : ", and gone")});
    } else if (!met_.seen[i]) {
      result.push_back({rule.where, describe(rule)});
    }
  }
  return result;
}

void waive_front_end(const Findings& found, const Path& path, Account& account) {
  const bool is_anothers = found.front_end && !path.torchs_own;
  if (!is_anothers || account.standing != Standing::new_ || !info(found.status).fails_strict)
    return;
  account.standing = Standing::waived;
  account.expectation =
      ExpectationRef{"", found.status, Because::front_end,
                     "it is raised by Dynamo's tracing, before the backend is handed anything", ""};
}

}  // namespace lockstep
