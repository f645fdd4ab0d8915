#include "certificate/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "record/judged.h"
#include "reports/markup.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::string_view kPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{title}}</title>
<style>
:root { --paper: #f7f6f3; --panel: #fffffe; --ink: #1d1f23; --soft: #5a5e66; --line: #e3e1db; --conform: #1d7242; --odd: #855800; --accent: #2f4b7c; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #131416; --panel: #191b1e; --ink: #e7e6e2; --soft: #a2a6ae; --line: #2d3035; --conform: #74c997; --odd: #e3b055; --accent: #a3bdf0; }
}
html { color-scheme: light dark; }
body { margin: 0 auto; max-width: 860px; padding: 40px 20px 60px; background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 16px; margin: 34px 0 8px; }
p { margin: 0 0 10px; }
.soft { color: var(--soft); }
.scroll { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 7px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 14px; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
tr:first-child > * { border-top: 0; }
th { font-weight: 600; width: 11em; }
td.number { text-align: right; white-space: nowrap; width: 1%; }
code { font-family: ui-monospace, monospace; font-size: 0.92em; overflow-wrap: anywhere; }
a { color: var(--accent); }
.conform { color: var(--conform); } .odd { color: var(--odd); }
</style>
</head>
<body>
<h1>{{title}}</h1>
<p class="soft">{{date}}, for torch {{torch}}. What that means: the rules of conformance of Lockstep {{lockstep}}.</p>
{{sections}}
<h2>Check it</h2>
<p>The archive has the digest <code>{{digest}}</code>.</p>
<p><code>{{command}}</code></p>
</body>
</html>
)";

std::string text_of(const Json& value) { return value.is_null() ? "" : plain_text(value); }

std::string words_of(const Json& list) {
  return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), ", "));
}

std::string percent_of(const Json& part) {
  const auto could = part["could"].get<std::size_t>();
  return could == 0 ? "100.0 %" : rate_text(part["judged"].get<std::size_t>(), could);
}

/// Rows of a table, and the table with its heading where there are some.
class Table {
 public:
  explicit Table(std::string_view heading) : heading_(heading) {}
  void row(std::string_view name, const std::vector<std::string>& cells, bool numbers = false) {
    rows_ += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(name));
    for (const std::string& cell : cells)
      rows_ += fmt::format("<td{}>{}</td>", numbers ? " class=\"number\"" : "", cell);
    rows_ += "</tr>\n";
  }
  std::string html() const {
    return rows_.empty()
               ? ""
               : fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><table>\n{}</table></div>\n",
                             heading_, rows_);
  }

 private:
  std::string heading_, rows_;
};

std::string link_to(const std::string& address) {
  if (!address.starts_with("https://")) return html_text(address);
  return fmt::format("<a href=\"{0}\">{0}</a>", html_text(address));
}

std::string sections_of(const Json& statement) {
  Table what("What was certified"), verdicts("Instances"), classes("By class of operators"),
      declared("What it declares not to support"), needless("Declared needlessly"),
      tolerances("Tolerances"), waivers("Waivers");
  what.row("path", {html_text(text_of(statement["path"]["name"]))});
  if (statement.contains(kNotExecutedHere)) what.row("checked", {"not executed here"});
  what.row("contract", {html_text(text_of(statement["contract"]))});
  what.row("executes", {html_text(text_of(statement["executes"]))});
  if (!statement["may_call"].empty())
    what.row("may call", {html_text(words_of(statement["may_call"]))});
  what.row("device", {html_text(text_of(statement["device"]))});
  for (const auto& [name, value] : statement["machine"].items())
    what.row(name, {html_text(text_of(value))});
  for (const auto& [worker, values] : statement["packages"].items()) {
    for (const auto& [name, value] : values.items()) {
      if (name.starts_with("package ")) what.row(name.substr(8), {html_text(text_of(value))});
    }
  }
  const auto number = [](const Json& value) { return grouped(value.get<std::size_t>()); };
  verdicts.row("all", {number(statement["instances"])}, true);
  for (const auto& [name, value] : statement["verdicts"].items()) {
    if (value != 0 || name == "conform") verdicts.row(name, {number(value)}, true);
  }
  const Json& executed = statement["executed"];
  verdicts.row("executed by its own code, observed", {number(executed["observed"])}, true);
  verdicts.row("as the path states", {number(executed["stated"])}, true);
  if (executed["unseen"] != 0) verdicts.row("nobody looked", {number(executed["unseen"])}, true);
  if (executed["partly"] != 0) verdicts.row("partly by others", {number(executed["partly"])}, true);
  for (const auto& [key, words] :
       {std::pair{"permitted", "mostly by operators that it may call"},
        std::pair{"inputs_known", "compiled when the inputs were known"},
        std::pair{"drawn", "also on inputs that nobody had seen"},
        std::pair{"unasked", "both sides raise before the backend is asked"}}) {
    if (executed[key] != 0 || key == std::string_view("drawn"))
      verdicts.row(words, {number(executed[key])}, true);
  }
  verdicts.row(fmt::format("executed {} times", number(statement["repeated"]["times"])),
               {number(statement["repeated"]["verdicts"])}, true);
  const auto ratio = [&](const std::string& name, const Json& each) {
    classes.row(name,
                {fmt::format("{} of {}", number(each["judged"]), number(each["could"])),
                 percent_of(each), fmt::format("floor {} %", each["floor"].get<double>())},
                true);
  };
  ratio("all", statement["judged"]);
  for (const Json& each : statement["classes"]) ratio(text_of(each["class"]), each);
  for (const Json& each : statement["declarations"])
    declared.row(number(each["verdicts"]), {html_text(text_of(each["reason"]))});
  for (const Json& id : statement["overdeclared"]) needless.row(text_of(id), {"conforms"});
  for (const Json& each : statement["tolerances"])
    tolerances.row(
        words_of(each["operators"]),
        {html_text(words_of(each["dtypes"])),
         html_text(fmt::format("rtol {}, atol {}", text_of(each["rtol"]), text_of(each["atol"]))),
         html_text(text_of(each["reason"]))});
  for (const Json& each : statement["waivers"])
    waivers.row(words_of(each["instances"]),
                {html_text(text_of(each["reason"])), link_to(text_of(each["link"]))});
  return what.html() + verdicts.html() + classes.html() + declared.html() + needless.html() +
         tolerances.html() + waivers.html();
}

}  // namespace

std::string conformance_page(const Json& statement, const std::string& digest,
                             const std::string& command) {
  const std::string title =
      fmt::format("{} conforms to Lockstep {} on {}", text_of(statement["path"]["title"]),
                  text_of(statement["level"]), text_of(statement["device"]));
  return filled(kPage, {{"title", html_text(title)},
                        {"date", html_text(text_of(statement["date"]))},
                        {"torch", html_text(text_of(statement["torch"]))},
                        {"lockstep", html_text(text_of(statement["lockstep"]))},
                        {"sections", sections_of(statement)},
                        {"digest", html_text(digest)},
                        {"command", html_text(command)}});
}

std::string conformance_badge(const Json& statement) {
  std::string words =
      fmt::format("{} on {}", text_of(statement["level"]), text_of(statement["device"]));
  if (statement["executes"] == "aten") words += ", executed by torch's operators";
  if (!statement["may_call"].empty()) words += ", may call " + words_of(statement["may_call"]);
  if (statement.contains(kNotExecutedHere)) words += ", not executed here";
  const std::string claim = one_line(clean(words), 80);
  // About what these letters take in any sans-serif of 11 pixels; textLength makes it exact.
  const auto width = [](std::string_view text) { return 7 * columns(text) + 12; };
  const std::size_t left = width("Lockstep"), right = width(claim);
  return fmt::format(
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" role="img" aria-label="Lockstep: {5}">
<title>Lockstep: {5}</title>
<clipPath id="r"><rect width="{0}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{1}" height="20" fill="#3a3d42"/><rect x="{1}" width="{2}" height="20" fill="#1d7242"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="6" y="14" textLength="{3}">Lockstep</text>
<text x="{4}" y="14" textLength="{6}">{5}</text>
</g>
</svg>
)svg",
      left + right, left, right, left - 12, left + 6, xml_text(claim), right - 12);
}

}  // namespace lockstep
