"use strict";
(async () => {  // embed.cmake joins the scripts; view.js ends this
// The run, what a verdict does to it, and the filter.  Nothing here touches the page.

/** The data of the page: JSON, or JSON that is compressed because there is much of it. */
async function readData() {
  const { type, textContent } = document.getElementById("data");
  if (type === "application/json") return JSON.parse(textContent);
  const bytes = Uint8Array.from(atob(textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const run = await readData();

// What verdicts of one case have in common is there once (html.cpp).
for (const verdict of run.verdicts) {
  for (const [key, place] of Object.entries(verdict.common ?? {})) verdict[key] = run.common[place];
  delete verdict.common;
}

/** What is shown of strings from the run: no terminal sequences, nothing invisible or reordering. */
function tidy(text) {
  return String(text)
    .replace(/\x1b\[[\x20-\x3f]*[\x40-\x7e]/g, "")
    .replace(/\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

// The tables of statuses and standings, and the ladder of grades, strictest first (html.cpp).
const statuses = new Map(run.statuses.map((status, order) => [status.name, { ...status, order }]));
const standings = new Map(run.standings.map((standing) => [standing.name, standing]));
const { grades } = run;

// Kinds of verdict as the console counts them, worst first (html.cpp).
const { kinds } = run;
const kindOf = new Map(kinds.map((kind, order) => [kind.name, { ...kind, order }]));

/** The same rule as Verdict::fails and column_of(). */
function classify(verdict, strict) {
  const status = statuses.get(verdict.status);
  const key = strict ? "fails_strict" : "fails";
  if (standings.get(verdict.standing)[key] ?? status[key]) return "failing";
  if (verdict.standing !== "new") return verdict.standing;
  return status.junit === "skipped" ? "skipped" : "conform";
}

function glyphOf(verdict) {
  const isError = verdict.kind === "failing" && statuses.get(verdict.status).junit === "error";
  return isError ? "!" : kindOf.get(verdict.kind).glyph;
}

function classifyAll(strict) {
  for (const verdict of run.verdicts) verdict.kind = classify(verdict, strict);
}

for (const verdict of run.verdicts) {
  verdict.haystack = tidy(
    [verdict.id, verdict.title, verdict.reason, verdict.eager_error?.class, verdict.compiled_error?.class,
     verdict.expectation?.reason, ...(verdict.causes ?? [])].filter(Boolean).join("\n")).toLowerCase();
}
classifyAll(false);

/** aten::add.Tensor is meant by add, add.Tensor and aten::add; a public function by its last part, too. */
function operatorNames(name) {
  const colons = name.indexOf("::");
  if (colons < 0) return [name, name.slice(name.lastIndexOf(".") + 1)];
  const rest = name.slice(colons + 2);
  const base = rest.split(".")[0];
  return [name, rest, base, name.slice(0, colons + 2) + base];
}

/** The worst output of a verdict that conforms and yet differs from eager; the same rule as tolerated() of the reports. */
function toleratedOf(verdict) {
  if (verdict.status !== "conform") return null;
  const passed = (verdict.outputs ?? []).filter((item) => item.status === "conform" && item.differing > 0);
  const bad = (item) => [Math.max(0, grades.indexOf(item.grade ?? "bits")), Number(item.max_ulp ?? 0), Number(item.max_rel ?? 0)];
  return passed.reduce((worst, item) => {
    if (!worst) return item;
    const [a, b] = [bad(worst), bad(item)];
    const at = a.findIndex((value, place) => value !== b[place]);
    return at >= 0 && a[at] < b[at] ? item : worst;
  }, null);
}

/** "y: 17 of 20 elements differ, by up to 3 ulp; let pass by no_worse(1)". */
function toleratedText({ tolerated: item }) {
  if (!item) return "";
  const sizes = [item.max_abs !== undefined && short(item.max_abs), item.max_rel !== undefined && `relative ${short(item.max_rel)}`,
    item.max_ulp !== undefined && `${grouped(item.max_ulp)} ulp`].filter(Boolean);
  return `${item.name}: ${grouped(item.differing)} of ${grouped(item.elements)} elements differ${sizes.length ? `, by up to ${sizes.join(", ")}` : ""}; let pass by ${item.policy}`;
}

// Found once: lists are made anew with each key that is typed into the filter.
for (const verdict of run.verdicts) {
  verdict.tolerated = toleratedOf(verdict);
  verdict.ulps = Math.max(0, ...(verdict.outputs ?? []).map((item) => item.max_ulp ?? 0));
}

/** How a key of the filter reads a verdict. */
const keys = {
  is: (v) => [v.kind, v.unstable && "unstable", v.vacuous && "vacuous", v.weak && "weak", v.tolerated && "tolerated",
    v.share > 0 && v.status !== "fell_back" && "partly", v.execution === "stated" && "stated", v.front_end && "front-end"],
  status: (v) => [v.status],
  standing: (v) => [v.standing],
  path: (v) => [v.path],
  device: (v) => [v.device],
  grade: (v) => [v.grade],
  stage: (v) => [v.stage],
  nearer: (v) => [v.nearer],
  because: (v) => [v.expectation?.because],
  cause: (v) => v.causes ?? [],
  tag: (v) => v.tags ?? [],
  dtype: (v) => v.dtypes ?? [],
  op: (v) => (v.operators ?? []).flatMap(operatorNames),
};

/** A glob in which * and ? match anything, "/" too, and brackets are themselves, as on the command line. */
function glob(pattern) {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${escaped}$`, "is");
}

/** The command line's language, for what a verdict knows: a list of {kind, pattern, not}. */
function parseFilter(text) {
  return text.split(/\s+/).filter(Boolean).map((word) => {
    const not = word.startsWith("!") && word.length > 1;
    const rest = not ? word.slice(1) : word;
    const colon = rest.indexOf(":");
    const key = rest.slice(0, Math.max(colon, 0));
    if (Object.hasOwn(keys, key)) return { kind: key, pattern: rest.slice(colon + 1), not };
    return { kind: /[*?/@]/.test(rest) ? "id" : "text", pattern: rest, not };
  });
}

function predicate({ kind, pattern }) {
  if (kind === "text" || (kind === "id" && !/[*?]/.test(pattern))) {
    const needle = pattern.toLowerCase();
    return (v) => v.haystack.includes(needle);
  }
  const matches = glob(pattern);
  if (kind === "id") return (v) => matches.test(v.id) || matches.test(v.instance) || matches.test(v.instance.split(/[[@]/)[0]);
  return (v) => keys[kind](v).some((value) => value && matches.test(value));
}

/** A function that says whether a verdict passes: terms of one kind are alternatives, kinds must all
 *  hold, "!" excludes.  Words that only search narrow each other down. */
function compileFilter(text) {
  const excluding = [];
  const alternatives = new Map();
  for (const term of parseFilter(text)) {
    if (term.pattern === "") continue;  // still being typed
    const holds = predicate(term);
    if (term.not) {
      excluding.push(holds);
    } else {
      const group = term.kind === "text" ? `text ${term.pattern}` : term.kind;
      alternatives.set(group, [...(alternatives.get(group) ?? []), holds]);
    }
  }
  const groups = [...alternatives.values()];
  return (v) => groups.every((group) => group.some((holds) => holds(v))) && !excluding.some((holds) => holds(v));
}

/** The filter with a term switched on or off. */
function toggleTerm(text, term) {
  const words = text.split(/\s+/).filter(Boolean);
  return (words.includes(term) ? words.filter((word) => word !== term) : [...words, term]).join(" ");
}

function hasTerm(text, term) {
  return text.split(/\s+/).includes(term);
}

/** Orders for the list; each ends with the order of the plan. */
const orders = {
  status: (a, b) => kindOf.get(a.kind).order - kindOf.get(b.kind).order ||
    statuses.get(a.status).order - statuses.get(b.status).order,
  instance: (a, b) => (a.instance < b.instance ? -1 : a.instance > b.instance ? 1 : 0),
  path: (a, b) => pathOrder.get(a.path) - pathOrder.get(b.path),
  grade: (a, b) => gradeOrder(b) - gradeOrder(a) || b.ulps - a.ulps,
  time: (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
};
const gradeOrder = (verdict) => grades.indexOf(verdict.grade ?? "bits");
// The paths that have a rung come first, lowest rung first.
const aboveOf = new Map(run.rungs.map((rung) => [rung.path, rung.above]));
const pathOrder = new Map([...new Set([...aboveOf.keys(), ...run.run.paths.map((path) => path.name)])].map((name, order) => [name, order]));

// The rung on which a verdict's divergence begins: of its path and those below it, one of `departing`. It is the `first` where
// all rungs below it were judged.
for (const verdict of run.verdicts) {
  const { first = [], unknown = [] } = run.departing[verdict.instance] ?? {};
  const way = [];
  for (let path = verdict.path; path && !way.includes(path); path = aboveOf.get(path)) way.unshift(path);
  if (run.rungs.length && statuses.get(verdict.status).departs) verdict.begins = way.find((path) => first.includes(path));
  verdict.first = verdict.begins === verdict.path && unknown.length === 0;
}
for (const verdict of run.verdicts) {
  if (!pathOrder.has(verdict.path)) pathOrder.set(verdict.path, pathOrder.size);
}

function sorted(verdicts, order, backwards) {
  const sign = backwards ? -1 : 1;
  return [...verdicts].sort((a, b) => sign * orders[order](a, b) || a.index - b.index);
}

function seconds(value) {
  if (!(value >= 0)) return "";
  if (value < 10) return `${value.toFixed(2)} s`;
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, "0")} min`;
}

const grouped = (number) => Number(number).toLocaleString("en-US");

function short(number) {
  return typeof number === "number" ? String(Number(number.toPrecision(3))) : String(number);
}
