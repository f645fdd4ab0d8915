#include "plan/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/launcher.h"
#include "base/reader.h"
#include "base/text.h"
#include "paths/globs.h"
#include "plan/names.h"

namespace lockstep {
namespace {

using Term = Filter::Term;

Filter alone(const Term& term, const PlanRequest& request) {
  Filter filter =
      *Filter::parse({term.kind == "word" ? term.pattern : term.kind + ":" + term.pattern});
  if (term.kind == "word") {
    filter.search_words([&](const std::string& id) {
      return std::any_of(request.suite->begin(), request.suite->end(),
                         [&](const CaseFile& file) { return file.id == id; });
    });
  }
  return filter;
}

/// Whether an id, a word or a tag means an instance or, before torch is known, its case.
bool means_instance(const Term& term, const PlanRequest& request, bool certain) {
  const Filter filter = alone(term, request);
  const std::string of_case = term.pattern.substr(0, term.pattern.find_first_of("[@"));
  for (const CaseFile& file : *request.suite) {
    // Without operators a sweep has no instances.
    if ((!certain || file.choices.empty()) && term.kind == "id" && glob_match(of_case, file.id))
      return true;
    const std::vector<std::string> tags = raw_tags(file);
    for (const std::string& device : request.devices) {
      for (const MatrixChoice& choice : file.choices) {
        const std::string id = file.id + choice.suffix + "@" + device;
        if (filter.selects({file.id, id, "", device, &tags, nullptr, nullptr, nullptr}))
          return true;
      }
    }
  }
  return false;
}

bool means_path(const std::string& glob, const PlanRequest& request) {
  return std::any_of(request.paths.begin(), request.paths.end(),
                     [&](const Path& path) { return glob_match(glob, path.name); });
}

Error no_path(const std::string& glob, const PlanRequest& request) {
  std::vector<std::string> names;
  for (const Path& path : request.paths) names.push_back(path.name);
  const std::string near = suggestion(glob, names);
  return {fmt::format("there is no path `{}`", glob),
          near.empty() ? "there are " + enumerate(names) : near};
}

Error no_device(const std::string& glob, const PlanRequest& request, bool known) {
  if (known)
    return {fmt::format("there is no device `{}` here, only {}", glob, enumerate(request.devices)),
            ""};
  return {fmt::format("there is no device `{}`", glob),
          suggestion(glob, valid_names(request.paths, request.context.registry).devices)};
}

bool is_kind_of_device(const std::string& glob, const PlanRequest& request) {
  const std::vector<std::string> kinds =
      valid_names(request.paths, request.context.registry).devices;
  const std::string kind = glob.substr(0, glob.find(':'));
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const std::string& each) { return glob_match(kind, each); });
}

bool is_here(const std::string& glob, const PlanRequest& request) {
  return std::any_of(request.devices.begin(), request.devices.end(),
                     [&](const std::string& device) { return device_matches(glob, device); });
}

std::string did_you_mean(const std::string& near) {
  return near.empty() ? typed("list --level all") + " prints every id"
                      : fmt::format("did you mean `{}`?", near);
}

std::vector<Error> unmatched_id(const Term& term, const PlanRequest& request, bool certain) {
  std::vector<Error> errors;
  const std::string& id = term.pattern;
  const std::size_t at = id.find('@');
  const std::size_t slash = at == std::string::npos ? at : id.find('/', at);
  if (slash != std::string::npos && !means_path(id.substr(slash + 1), request))
    errors.push_back(no_path(id.substr(slash + 1), request));
  if (means_instance(term, request, certain)) return errors;
  const std::string device =
      at == std::string::npos
          ? ""
          : id.substr(at + 1, slash == std::string::npos ? slash : slash - at - 1);
  if (!device.empty() && !is_here(device, request) &&
      means_instance({"id", id.substr(0, at) + "@*", false}, request, certain)) {
    errors.push_back(no_device(device, request, is_kind_of_device(device, request)));
    return errors;
  }
  errors.push_back({fmt::format("`{}` is no case and no instance of one", one_line(id, 200)),
                    did_you_mean(nearest_id(request, id))});
  return errors;
}

Error unmatched_word(const Term& term, const PlanRequest& request) {
  std::vector<std::string> paths;
  for (const Path& path : request.paths) paths.push_back(path.name);
  const std::string path = nearest(term.pattern, paths);
  return {fmt::format("no id contains `{}`", one_line(term.pattern, 200)),
          path.empty() ? did_you_mean(nearest_id(request, term.pattern))
                       : fmt::format("did you mean --path {}?", path)};
}

/// Those of operators and dtypes that no case has.
void drop_seen(std::vector<Term>& terms, const PlanRequest& request) {
  if (terms.empty()) return;
  visit_decoded(request, [&](const auto& operators, const auto& dtypes) {
    std::erase_if(terms, [&](const Term& term) {
      const auto& words = term.kind == "op" ? operators : dtypes;
      return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return term.kind == "op" ? operator_matches(term.pattern, word)
                                 : glob_match(term.pattern, word);
      });
    });
    return terms.empty();
  });
}

}  // namespace

std::vector<Error> unmatched_terms(const PlanRequest& request, const TermContext& context) {
  std::vector<Error> errors;
  std::vector<Term> decoded;
  for (const Term& term : request.filter.terms()) {
    if (term.kind == "id") {
      for (Error& error : unmatched_id(term, request, context.certain))
        errors.push_back(std::move(error));
    } else if (term.kind == "word") {
      if (!means_instance(term, request, context.certain))
        errors.push_back(unmatched_word(term, request));
    } else if (term.kind == "tag") {
      if (!means_instance(term, request, context.certain)) {
        const std::string near = nearest_word(request, "tag", term.pattern);
        errors.push_back({fmt::format("no case has the tag `{}`", one_line(term.pattern, 200)),
                          near.empty() ? "" : fmt::format("did you mean `tag:{}`?", near)});
      }
    } else if (term.kind == "path") {
      if (!means_path(term.pattern, request)) errors.push_back(no_path(term.pattern, request));
    } else if (term.kind == "device") {
      const bool known = is_kind_of_device(term.pattern, request);
      if (!known || (context.certain && !is_here(term.pattern, request)))
        errors.push_back(no_device(term.pattern, request, known));
    } else if (const auto words = context.said.find(term.kind); words != context.said.end()) {
      if (std::none_of(words->second.begin(), words->second.end(),
                       [&](const std::string& word) { return glob_match(term.pattern, word); }))
        errors.push_back({fmt::format("found `{}:{}`, which means nothing", term.kind,
                                      one_line(term.pattern, 200)),
                          suggestion(term.pattern, words->second)});
    } else if ((term.kind == "op" || term.kind == "dtype") && context.certain) {
      decoded.push_back(term);
    }
  }
  drop_seen(decoded, request);
  for (const Term& term : decoded) {
    const std::string near = nearest_word(request, term.kind, term.pattern);
    const std::string word = one_line(term.pattern, 200);
    errors.push_back({term.kind == "op"
                          ? fmt::format("no case calls the operator `{}`", word)
                          : fmt::format("no case has an input of the dtype `{}`", word),
                      near.empty() || near == term.pattern
                          ? ""
                          : fmt::format("did you mean `{}:{}`?", term.kind, near)});
  }
  return errors;
}

}  // namespace lockstep
