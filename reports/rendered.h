#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// No report for a machine is longer: GitLab refuses more, and others are slow with it.
constexpr std::size_t kReportLimit = 30'000'000;

/// How much such a report says of each verdict, from everything to little: the report is written
/// with the first of them that keeps it within its limit.
struct Fullness {
  std::size_t text = 16 * 1024;  ///< bytes of what explains a verdict; nobody reads more
  std::size_t message = 4096;    ///< bytes of the line that says why
  bool facts_of_all = true;      ///< facts and notes also of what passes
};

/// The fullest report that is no longer than `limit` bytes.  Where even the least full one is,
/// `write` has to leave verdicts out that do not fit into `room` bytes, which else is without end.
std::string fitted(
    std::size_t limit,
    const std::function<std::string(const Fullness& fullness, std::size_t room)>& write);

/// How a verdict is rendered for those who know passed, failed and skipped.
struct Rendered {
  JunitElement element;
  std::string type;     ///< its status, or its standing where that decided
  std::string message;  ///< one line; empty where it passes
};

Rendered render(const Verdict& verdict, bool strict);

/// What people filter by, of each verdict: id, status, standing, grade, path, device, and once for
/// each of several dtype, operator, fingerprint.
std::vector<std::pair<std::string_view, std::string>> facts_of(const Verdict& verdict);

/// Failure text, or a note on a verdict that passes; may be empty.  Text that is longer than the
/// fullness allows is cut, with a pointer to report.html.
std::string rendered_text(const Verdict& verdict, const Rendered& rendered,
                          const Fullness& fullness);

/// The tensors that the run kept of a verdict: relative to where the run was begun, which is a CI
/// job's workspace, or else absolute.
std::vector<std::string> attachments_of(const RunRecord& record, const Verdict& verdict);

/// When a run began, as its record says, where that is a moment such as "2026-11-21T12:00:00Z",
/// else empty; a log may come from anywhere.
std::string moment_of(const RunInfo& info);

/// "lockstep", the path, and the case's folders and name: where a verdict stands in a tree.
std::vector<std::string> place_of(const Verdict& verdict);

}  // namespace lockstep
