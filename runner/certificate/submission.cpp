#include "certificate/submission.h"

#include <fmt/format.h>

#include "base/reader.h"
#include "base/text.h"

namespace lockstep {

void decode_files(Submission& submission, const ValidNames& names, Diagnostics& diagnostics) {
  submission.level = decode_level(submission.level_file, diagnostics);
  if (diagnostics.empty() && submission.level.instances.empty()) {
    Reader(submission.level_file, diagnostics)
        .error("", "found a level that is not frozen: later cases would change it",
               "`lockstep list --level LEVEL --as-level` freezes one (docs/cases/levels.md)");
  }
  submission.rules = decode_rules(submission.rules_file, diagnostics);
  if (auto path = decode_path(submission.path_file, diagnostics))
    submission.path = std::move(*path);
  for (const JsonFile& file : submission.waiver_files) {
    Reader reader(file, diagnostics);
    const int before = static_cast<int>(diagnostics.size());
    std::vector<Expectation> rules = decode_expectations(file, names, diagnostics);
    for (std::size_t i = 0; i < rules.size() && before == static_cast<int>(diagnostics.size());
         ++i) {
      Expectation& rule = rules[i];
      const std::string pointer = fmt::format("/known/{}", i);
      const auto demand = [&](bool fine, const char* found, const char* hint) {
        if (!fine) reader.error(pointer, found, hint);
      };
      demand(rule.waived, "found an expectation that is no waiver",
             "a certificate bears what is waived: \"waived\": true");
      demand(!rule.link.empty(), "found a waiver without a `link`",
             "the thread in which it was agreed");
      demand(!rule.devices.empty() && !contains(rule.devices, "*"),
             "found a waiver that is bound to no device", "\"devices\": [\"cuda\"]");
      demand(!rule.environment.empty(), "found a waiver that is bound to no driver",
             "\"environment\": {\"cuda\": \"*driver 570.*\"} says what the machine must be; "
             "`lockstep doctor` and the log have the words");
      rule.added = true;
      submission.waivers.push_back(std::move(rule));
    }
  }
}

std::string repeated_by(const JsonFile& path, const JsonFile& level) {
  return path.text + "\n" + level.text;
}

}  // namespace lockstep
