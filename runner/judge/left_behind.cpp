#include "judge/left_behind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "judge/results.h"

namespace lockstep {
namespace {

using Facts = std::map<std::string, std::string>;

/// Names what both sides say, and not the same.
std::vector<std::string> other_facts(const Facts& eager, const Facts& compiled) {
  std::vector<std::string> names;
  for (const auto& [name, fact] : eager) {
    const auto found = compiled.find(name);
    if (found != compiled.end() && found->second != fact) names.push_back(name);
  }
  return names;
}

/// The modes among them; with how many threads eager was executed is not asked where that was to be
/// another number.
std::vector<std::string> other_modes(const ProcessState& eager, const ProcessState& compiled,
                                     const JudgeRequest& request) {
  std::vector<std::string> names = other_facts(eager.modes, compiled.modes);
  if (request.cross_device) std::erase(names, "threads");
  return names;
}

using Names = std::optional<std::vector<std::string>>;

/// The first of the names that are in `names` alone; empty: there is none, or somebody did not
/// look.
std::string only_in(const Names& names, const Names& others) {
  if (!names || !others) return "";
  std::vector<std::string> only;
  for (const std::string& name : *names) {
    if (!contains(*others, name)) only.push_back(name);
  }
  if (only.empty()) return "";
  return only.size() == 1 ? only.front()
                          : fmt::format("{} ({})", only.front(), and_more(only.size() - 1));
}

/// "call 2", "call 2 of repetition 3", or "repetition 3" of a program with one call.
std::string place(std::size_t repetition, std::size_t call, std::size_t calls) {
  if (calls == 1) return fmt::format("repetition {}", repetition + 1);
  const std::string text = fmt::format("call {}", call + 1);
  return repetition == 0 ? text : fmt::format("{} of repetition {}", text, repetition + 1);
}

bool draws_own_numbers(const Observation& eager, const JudgeRequest& request) {
  if (request.own_random || request.cross_device) return true;
  const auto any = [&](const CallResult& call) {
    return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const auto& output) {
      return accepts_any_numbers(request, output.first, output.second);
    });
  };
  return std::any_of(eager.repetitions.front().begin(), eager.repetitions.front().end(), any);
}

/// What calls left behind, in the order of the calls.
class LeftBehind {
 public:
  LeftBehind(const Observation& eager, const Observation& compiled, const JudgeRequest& request)
      : eager_(eager),
        compiled_(compiled),
        request_(request),
        compares_generators_(!draws_own_numbers(eager, request)) {}

  std::vector<Difference> differences() && {
    const std::size_t repetitions =
        std::min(eager_.repetitions.size(), compiled_.repetitions.size());
    for (std::size_t r = 0; r < repetitions; ++r) {
      const std::size_t calls =
          std::min(eager_.repetitions[r].size(), compiled_.repetitions[r].size());
      for (std::size_t c = 0; c < calls; ++c) compare(r, c);
    }
    // What later calls overwrite lies in memory that stays: that is told once.
    if (std::find(told_.begin(), told_.end(), "overwritten") != told_.end())
      std::erase_if(found_,
                    [](const Difference& each) { return each.reason.starts_with("memory"); });
    return std::move(found_);
  }

 private:
  void compare(std::size_t r, std::size_t c) {
    const CallResult& eager = eager_.repetitions[r][c];
    const CallResult& compiled = compiled_.repetitions[r][c];
    const std::string after = "after " + place(r, c, eager_.repetitions.front().size());
    for (const std::string& name : other_modes(eager.state, compiled.state, request_)) {
      note(r, fmt::format("mode {}", name),
           fmt::format("{}, compiled {}, {}", eager.state.modes.at(name),
                       compiled.state.modes.at(name), after));
    }
    // Who counts more writes than eager harms nobody: batch_norm of eager counts none of its own.
    if (const std::string unseen = only_in(written_as_in(eager, compiled), compiled.state.versions);
        !unseen.empty())
      note(r, "version",
           fmt::format("eager counts that {} is written to, compiled does not, {}", unseen, after));
    // An interpreter of graphs may hold what it was given last until it is given more.
    const std::string names = only_in(compiled.state.kept, eager.state.kept);
    if (!names.empty() && !is_last(r, c))
      note(r, "memory", fmt::format("compiled keeps that of {}, eager does not, {}", names, after));
    if (compares_generators_) {
      for (const std::string& name : other_facts(eager.state.generators, compiled.state.generators))
        note(r, fmt::format("generator {}", name), "not the state that eager leaves, " + after);
    }
    read_again(r, c, "", compiled.outputs, eager.outputs_again, compiled.outputs_again);
    read_again(r, c, kGradientPrefix, compiled.grads, eager.grads_again, compiled.grads_again);
  }

  void read_again(std::size_t r, std::size_t c, std::string_view prefix, const NamedValues& values,
                  const NamedValues& eager_again, const NamedValues& again) {
    for (const auto& [name, value] : again) {
      // What eager changes, too, the program may change.
      const DataValue* before = find_value(values, name);
      if (find_value(eager_again, name) != nullptr || before == nullptr ||
          same_bits(*before, value)) {
        continue;
      }
      note(r, "overwritten",
           fmt::format("{}{} of {} changed while {} ran", prefix, name,
                       place(r, c, eager_.repetitions.front().size()), later(r, c)));
    }
  }

  /// The inputs that eager counts as written to and that the path left with the same bytes: a write
  /// that is lost or wrong is told as that.
  static Names written_as_in(const CallResult& eager, const CallResult& compiled) {
    Names names = eager.state.versions;
    if (names) {
      std::erase_if(*names, [&](const std::string& name) {
        const DataValue* expected = find_value(eager.inputs, name);
        const DataValue* made = find_value(compiled.inputs, name);
        return expected == nullptr || made == nullptr || !same_bits(*expected, *made);
      });
    }
    return names;
  }

  bool is_last(std::size_t r, std::size_t c) const {
    return r + 1 == compiled_.repetitions.size() && c + 1 == compiled_.repetitions[r].size();
  }

  /// What ran after a call.
  std::string later(std::size_t r, std::size_t c) const {
    const std::size_t calls = compiled_.repetitions[r].size();
    const bool last_call = c + 1 == calls;
    const std::size_t next = last_call ? r + 1 : r;
    const std::size_t at = last_call ? 0 : c + 1;
    if (next >= compiled_.repetitions.size()) return "what comes after it";
    const bool one =
        next + 1 == compiled_.repetitions.size() && at + 1 == compiled_.repetitions[next].size();
    return one ? place(next, at, eager_.repetitions.front().size()) : "later calls";
  }

  /// Each fact once, at its first place.
  void note(std::size_t repetition, const std::string& what, const std::string& text) {
    if (std::find(told_.begin(), told_.end(), what) != told_.end()) return;
    told_.push_back(what);
    found_.push_back({Status::state_diverges, "", fmt::format("{}: {}", what, text),
                      repetition == 0 ? 0 : repetition + 1});
  }

  const Observation& eager_;
  const Observation& compiled_;
  const JudgeRequest& request_;
  const bool compares_generators_;
  std::vector<std::string> told_;
  std::vector<Difference> found_;
};

}  // namespace

std::vector<Difference> left_behind(const Observation& eager, const Observation& compiled,
                                    const JudgeRequest& request) {
  if (eager.repetitions.empty() || compiled.repetitions.empty()) return {};
  return LeftBehind(eager, compiled, request).differences();
}

std::vector<Difference> left_after_error(const Observation& eager, const Observation& compiled,
                                         const JudgeRequest& request) {
  if (!compiled.after_error) return {};
  const AfterError& left = *compiled.after_error;
  std::vector<Difference> found;
  const ProcessState* state = nullptr;
  if (eager.after_error) {
    if (eager.after_error->call != left.call) {
      return {{Status::error_diverges, "",
               fmt::format("eager raises in call {}, compiled in call {}",
                           eager.after_error->call + 1, left.call + 1)}};
    }
    found = compare_after_error(*eager.after_error, left, request);
    state = &eager.after_error->state;
  } else if (!eager.repetitions.empty() && left.call < eager.repetitions.front().size()) {
    state = &eager.repetitions.front()[left.call].state;
  }
  if (state == nullptr) return found;
  for (const std::string& name : other_modes(*state, left.state, request)) {
    found.push_back({Status::state_diverges, "",
                     fmt::format("mode {}: {}, compiled {}, after the error", name,
                                 state->modes.at(name), left.state.modes.at(name))});
  }
  return found;
}

}  // namespace lockstep
