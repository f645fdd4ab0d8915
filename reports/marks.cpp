#include "reports/marks.h"

#include <array>

#include "base/enum_table.h"
#include "reports/tolerated.h"

namespace lockstep {
namespace {

// Columns: mark, name, label, meaning, is_of.
constexpr std::array kMarks = {
    MarkInfo{Mark::tolerated, "tolerated", "tolerated",
             "it conforms, yet differs from eager; worst first by grade",
             [](const Verdict& verdict) { return tolerated(verdict).output != nullptr; }},
    MarkInfo{Mark::weak, "weak", "weak", "it says little, although something was compared",
             [](const Verdict& verdict) { return !verdict.found.weak.empty(); }},
    MarkInfo{Mark::partly, "partly", "partly executed by others",
             "the path's own code executed only a part of it",
             [](const Verdict& verdict) {
               return verdict.found.foreign_fraction > 0 &&
                      verdict.found.status != Status::fell_back;
             }},
    MarkInfo{Mark::stated, "stated", "executed as stated",
             "the path states who executed it; nobody observed it",
             [](const Verdict& verdict) { return verdict.found.execution == Witness::stated; }},
    MarkInfo{Mark::vacuous, "vacuous", "vacuous", "there was nothing to compare or to compile",
             [](const Verdict& verdict) {
               return verdict.found.vacuous && verdict.found.status == Status::conform;
             }},
    MarkInfo{Mark::unstable, "unstable", "unstable", "the compiled program disagrees with itself",
             [](const Verdict& verdict) { return verdict.found.unstable; }},
    MarkInfo{Mark::front_end, "front-end", "of the front end",
             "its error came of tracing: no backend was reached",
             [](const Verdict& verdict) { return verdict.found.front_end; }},
    MarkInfo{Mark::unjudged, "unjudged", "not judged",
             "it does not count as judged: nobody can see who executed it, operators of `may_call` "
             "did most of it, or both sides raise before the backend is asked",
             [](const Verdict& verdict) {
               return info(verdict.found.status).judged() &&
                      (!is_judged(verdict.found) || conforms_unasked(verdict.found));
             }},
    MarkInfo{Mark::lost_warnings, "lost-warnings", "loses warnings",
             "eager warns of something, the compiled program does not",
             [](const Verdict& verdict) {
               return verdict.found.warnings && !verdict.found.warnings->lost.empty();
             }},
    MarkInfo{Mark::added_warnings, "added-warnings", "adds warnings",
             "the compiled program warns of something, eager does not",
             [](const Verdict& verdict) {
               return verdict.found.warnings && !verdict.found.warnings->added.empty();
             }},
};
static_assert(has_every_row(kMarks, &MarkInfo::mark));

}  // namespace

std::span<const MarkInfo> all_marks() { return kMarks; }

std::vector<std::string_view> marks_of(const Verdict& verdict) {
  std::vector<std::string_view> names;
  for (const MarkInfo& mark : kMarks) {
    if (mark.is_of(verdict)) names.push_back(mark.name);
  }
  return names;
}

}  // namespace lockstep
