#include "reports/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "reports/closing.h"
#include "reports/story.h"
#include "reports/style.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr double kLivePause = 0.05;
/// Without a terminal each line stays: one for each tenth of the run, but that one comes early,
/// that none comes sooner, and that nobody takes a slow run for one that hangs.
constexpr double kPlainPause = 5, kPlainLongest = 60;
constexpr std::size_t kEnoughToForetell = 10;
constexpr double kSecondsToForetell = 5;

std::string shown(const Style& style, const StoryLine& line) {
  switch (line.part) {
    case Part::title:
    case Part::output:
    case Part::link:
      return style.faint(line.text);
    case Part::note:
    case Part::expectation:
      return style.odd(line.text);
    case Part::repro:
      return style.command(line.text);
    default:
      return line.text;
  }
}

std::string heading(const Style& style, const Verdict& verdict, bool strict) {
  const bool plain = verdict.account.standing == Standing::new_;
  const std::string_view label =
      plain ? info(verdict.found.status).label : name_of(verdict.account.standing);
  return fmt::format("{}  {}  {}", style.of(verdict, strict, label),
                     style.strong(clean(verdict.facts.id)),
                     style.faint(format_seconds(verdict.origin.seconds)));
}

std::string indented(std::string_view text) {
  return text.empty() ? "\n" : fmt::format("    {}\n", text);
}

/// What has become right: which rule to remove, and how to see it again.
std::string fixed_block(const Style& style, const Verdict& verdict, bool strict) {
  std::string text = heading(style, verdict, strict) + "\n";
  if (const auto& rule = verdict.account.expectation) {
    text += indented(
        style.odd(fmt::format("{} was expected ({}) and no longer happens: remove {}",
                              info(rule->status).name, name_of(rule->because), clean(rule->file))));
    if (!rule->link.empty()) text += indented(style.faint(clean(rule->link)));
  }
  return text + indented(style.command(clean(verdict.origin.repro))) + "\n";
}

std::string whole_block(const Style& style, const Verdict& verdict, bool strict) {
  std::string text = heading(style, verdict, strict) + "\n";
  for (const StoryLine& line : story_of(verdict)) text += indented(shown(style, line));
  return text + "\n";
}

}  // namespace

Console::Console(std::ostream& out, std::ostream& err, ConsoleOptions options)
    : out_(out), err_(err), options_(std::move(options)) {
  if (!options_.clock) options_.clock = [] { return 0.0; };
}

void Console::run_started(const RunInfo& info) {
  planned_ = info.planned;
  started_ = shown_ = options_.clock();
  std::vector<std::string> paths;
  for (const PathInfo& path : info.paths) paths.push_back(path.name);
  if (options_.quiet) return;
  err_ << clean(fmt::format("{} to come{}: {} on {}, {} at a time\n", counted(planned_, "verdict"),
                            info.level.empty() ? "" : fmt::format(" (level {})", info.level),
                            enumerate(paths), enumerate(info.devices), info.jobs));
  for (const AbsentPath& path : info.absent_paths)
    err_ << clean(fmt::format("{}: {}; not run\n", path.name, one_line(path.reason)));
  err_.flush();
}

void Console::note(const std::string& text) {
  if (options_.quiet) return;
  clear_line();
  err_ << Style(options_.color_err).faint(clean(text)) << '\n';
  err_.flush();
}

void Console::running(const std::vector<std::string>& ids,
                      const std::vector<std::string>& starting) {
  if (!begun_ && !ids.empty()) begun_ = {options_.clock(), done_};
  const bool changed = ids != running_ || starting != starting_;
  running_ = ids;
  starting_ = starting;
  if (changed) progress();
}

void Console::tick() {
  // Seconds are shown whole, so a live line is written again when they change.
  if (!options_.live || options_.clock() - shown_ >= 1) progress();
}

void Console::verdict(const Verdict& verdict) {
  ++done_;
  const bool fails = verdict.fails(options_.strict);
  failing_ += fails;
  const Style style(options_.color_out);
  if (fails || verdict.account.standing == Standing::fixed) {
    clear_line();
    out_ << (verdict.account.standing == Standing::fixed
                 ? fixed_block(style, verdict, options_.strict)
                 : whole_block(style, verdict, options_.strict));
    out_.flush();
  } else if (options_.explain_known && verdict.account.expectation) {
    clear_line();
    out_ << whole_block(style, verdict, options_.strict);
    out_.flush();
  } else if (options_.verbose) {
    clear_line();
    out_ << one_line_of(style, verdict, options_.strict) << '\n';
    out_.flush();
  }
  progress();
}

void Console::run_ended(const RunRecord& record) {
  clear_line();
  const double seconds = record.end ? record.end->seconds : options_.clock() - started_;
  out_ << closing(record, Style(options_.color_out),
                  {.strict = options_.strict,
                   .verbose = options_.verbose,
                   .quiet = options_.quiet,
                   .explained = options_.explain_known,
                   .columns = options_.wrap,
                   .seconds = seconds});
  out_.flush();
}

/// How long the rest takes if it goes on as so far: ", about 4 min left".
std::string Console::left() const {
  if (!begun_) return {};
  const std::size_t done = done_ - begun_->second;
  const double seconds = options_.clock() - begun_->first;
  // Before that the first compilations decide.
  if (done < kEnoughToForetell || seconds < kSecondsToForetell || done_ >= planned_) return {};
  const double rest = seconds / static_cast<double>(done) * static_cast<double>(planned_ - done_);
  if (rest < 90) return fmt::format(", about {:.0f} s left", std::max(1.0, rest));
  if (rest < 5400) return fmt::format(", about {:.0f} min left", rest / 60);
  return fmt::format(", about {:.1f} h left", rest / 3600);
}

std::string Console::progress_text() const {
  std::string text = fmt::format("[{}/{}] ", done_, planned_);
  if (failing_ > 0) text += fmt::format("{} failing, ", failing_);
  text += fmt::format("{:.0f} s", options_.clock() - started_);
  text += left();
  // While a worker starts, what is shown as running may be waiting for it.
  if (!starting_.empty()) {
    text += fmt::format("  starting the {} worker{}", clean(enumerate(starting_)),
                        starting_.size() > 1 ? "s" : "");
  } else if (!running_.empty()) {
    text += "  " + clean(running_.back());
    if (running_.size() > 1) text += " " + and_more(running_.size() - 1);
  }
  return text;
}

void Console::progress() {
  if (options_.quiet) return;
  const double time = options_.clock(), since = time - shown_;
  const std::size_t tenth = planned_ == 0 ? 0 : done_ * 10 / planned_;
  // A live line that was cleared for a result comes back at once.
  const bool due = options_.live ? !line_open_ || since >= kLivePause
                                 : since >= kPlainPause &&
                                       (!tenth_ || *tenth_ < tenth || since >= kPlainLongest);
  if (!due) return;
  tenth_ = tenth;
  shown_ = time;
  if (options_.live) {
    // The last column stays free: some terminals wrap as soon as it is filled.
    const std::size_t width = options_.columns > 1 ? options_.columns - 1 : 1;
    err_ << '\r' << Style(options_.color_err).faint(cut_columns(progress_text(), width))
         << "\x1b[K";
    line_open_ = true;
  } else {
    err_ << progress_text() << '\n';
  }
  err_.flush();
}

void Console::clear_line() {
  if (!line_open_) return;
  err_ << "\r\x1b[K";
  err_.flush();
  line_open_ = false;
}

}  // namespace lockstep
