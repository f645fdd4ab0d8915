// The run, what a verdict does to it, and the filter.  Nothing here touches the page.

/** What a script element holds: JSON, or JSON that is compressed because there is much of it
 *  (page_data.cpp). */
async function decode(id) {
  const { type, textContent } = document.getElementById(id);
  if (type === "application/json") return JSON.parse(textContent);
  const text = atob(textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).json();
}

const run = await decode("data");

// What lists and filters read of the verdicts that are loaded; the rest of one is decoded when it
// is looked at.  Counts of the run are never made of them: a long one stands in parts.
run.verdicts = [];
let parts = 0; // that are loaded

/** A verdict as a row of the columns of its part. A million objects that own all their values would
 *  take the browser's memory. */
class Row {
  constructor(columns, row, place) {
    this.columns = columns;
    this.row = row;
    this.place = place;
    this.kind = "";
    this.rank = 0;
    this.height = 0; // in a grid so wide
    this.heightIn = -1;
  }
}

const columnKeys = [];
/** Gives rows a key; a part may have one that those before it do not have. */
function addColumn(key) {
  const column = columnKeys.push(key) - 1;
  Object.defineProperty(Row.prototype, key, {
    get() {
      const { values, places } = this.columns[column] ?? noColumn;
      return values[places[this.row]];
    },
  });
}
const noColumn = { values: [], places: [] };

/** A test by one key: `passes` tells of each value of a column whether it passes. */
const byValue = (key, holds) => ({ key, passes: ({ values }) => values.map(holds) });

/** A test whether a key's text has a word in it, whatever the case. Texts in lower case are kept:
 *  the next letter that is typed searches them again. */
const bySearch = (key, word, textOf = (value) => value) => ({
  key,
  passes: (column) => {
    column.searched ??= column.values.map((value) => tidy(textOf(value) ?? "").toLowerCase());
    return column.searched.map((text) => text.includes(word));
  },
});

/** Whether a row passes one of the tests: found for a part at once, since many of its rows share
 *  each value. */
function anyOf(tests) {
  const known = new Map();
  const found = (columns) => {
    const rows = new Uint8Array(columns[columnKeys.indexOf("id")].places.length);
    for (const { key, passes } of tests) {
      const column = columns[columnKeys.indexOf(key)];
      if (!column) continue;
      const { places } = column;
      const passing = Uint8Array.from(passes(column));
      for (let row = 0; row < rows.length; ++row)
        if (places[row] >= 0) rows[row] |= passing[places[row]];
    }
    return rows;
  };
  return ({ columns, row }) => {
    if (!known.has(columns)) known.set(columns, found(columns));
    return known.get(columns)[row] === 1;
  };
}

/** Takes the verdicts of the next part. */
function take({ columns, derived, diverging }) {
  const all = { ...columns, ...derived };
  for (const key of Object.keys(all)) if (!columnKeys.includes(key)) addColumn(key);
  const ofPart = columnKeys.map((key) => all[key]);
  const count = run.parts[parts++];
  const verdicts = Array.from(
    { length: count },
    (_, row) => new Row(ofPart, row, run.verdicts.length + row),
  );
  rank(verdicts);
  run.verdicts = run.verdicts.concat(verdicts);
  Object.assign(run.diverging, diverging);
  ordered.clear();
  instances.clear();
}

const unloaded = () => run.count - run.verdicts.length;

let loading = Promise.resolve();
/** Loads part after part until there is `enough`, or all is there; `progress` is called before
 *  each. */
function load(enough, progress) {
  loading = loading.then(async () => {
    while (unloaded() > 0 && !enough()) {
      progress();
      take(await decode(`part-${parts}`));
    }
  });
  return loading;
}

const verdictOf = (id) => run.verdicts.find((verdict) => verdict.id === id);

const blocks = new Map();

async function readBlock(number) {
  const { common, verdicts } = await decode(`block-${number}`);
  for (const verdict of verdicts) {
    for (const [key, place] of Object.entries(verdict.common ?? {})) verdict[key] = common[place];
    delete verdict.common;
  }
  return verdicts;
}

/** All that the log says of a verdict of the list. */
async function whole(verdict) {
  const number = Math.floor(verdict.place / run.block);
  if (!blocks.has(number)) blocks.set(number, readBlock(number));
  const listed = Object.fromEntries(columnKeys.map((key) => [key, verdict[key]]));
  return { ...verdict, ...listed, ...(await blocks.get(number))[verdict.place % run.block] };
}

/** What is shown of strings from the run: no terminal sequences, nothing invisible or
 *  reordering. */
function tidy(value) {
  const text = String(value);
  if (!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/.test(text))
    return text;
  return text
    .replace(/\x1b\[[\x20-\x3f]*[\x40-\x7e]/g, "")
    .replace(/\x1b\][^\x07\x1b\n]*(\x07|\x1b\\)/g, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

// The tables of statuses and standings, and the scale of grades, strictest first (page_data.cpp).
const statuses = new Map(run.statuses.map((status, order) => [status.name, { ...status, order }]));
const standings = new Map(run.standings.map((standing) => [standing.name, standing]));
const { grades } = run;

// Kinds of verdict as the console counts them, worst first (page_data.cpp).
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

let strictly = null;

/** Gives verdicts their kind and their rank, worst first. */
function rank(verdicts) {
  for (const verdict of verdicts) {
    verdict.kind = classify(verdict, strictly);
    verdict.rank = 100 * kindOf.get(verdict.kind).order + statuses.get(verdict.status).order;
  }
}

/** Ranks all verdicts so strictly; `totals` counts those of the whole run (page_data.cpp). */
function classifyAll(strict) {
  if (strictly === strict) return;
  strictly = strict;
  rank(run.verdicts);
  ordered.clear();
  const { kind, status, path, conforming } = run.totals[Number(strict)];
  totals = {
    kind: new Map(Object.entries(kind)),
    status: new Map(Object.entries(status)),
    path: new Map(
      Object.entries(path).map(([name, kinds]) => [name, new Map(Object.entries(kinds))]),
    ),
    conforming: new Map(Object.entries(conforming)),
  };
}
let totals = null;

/** aten::add.Tensor is meant by add, add.Tensor and aten::add; a public function by its last part,
 *  too. */
function operatorNames(name) {
  const colons = name.indexOf("::");
  if (colons < 0) return [name, name.slice(name.lastIndexOf(".") + 1)];
  const rest = name.slice(colons + 2);
  const base = rest.split(".")[0];
  return [name, rest, base, name.slice(0, colons + 2) + base];
}

/** "y: 17 of 20 elements differ, by up to 3 ulp; let pass by no_worse(1)". */
function toleratedText({ tolerated: item }) {
  if (!item) return "";
  const sizes = [
    item.max_abs !== undefined && short(item.max_abs),
    item.max_rel !== undefined && `relative ${short(item.max_rel)}`,
    item.max_ulp !== undefined && `${grouped(item.max_ulp)} ulp`,
  ].filter(Boolean);
  return `${item.name}: ${grouped(item.differing)} of ${grouped(item.elements)} elements differ${sizes.length ? `, by up to ${sizes.join(", ")}` : ""}; let pass by ${item.policy}`;
}

/** A part of a whole as every report has it (record/judged.h): rounded down, so that only all is
 *  100 %, and what is not nothing is 0.1 % at least. */
function percent(part, whole) {
  const tenths = Math.max(Math.floor((1000 * part) / whole), part > 0 ? 1 : 0);
  return `${(tenths / 10).toFixed(1)} %`;
}

/** What was judged, and where: [what, value, more] for the first screen. */
function setting() {
  const named = (key) =>
    Object.entries(run.environment).filter(
      ([worker, values]) => worker !== "machine" && values?.[key] !== undefined,
    );
  const told = (key) => {
    const found = named(key);
    const values = new Set(found.map(([, value]) => String(value[key])));
    return values.size > 1
      ? found.map(([worker, value]) => `${worker} ${value[key]}`).join(", ")
      : [...values].join("");
  };
  const { machine = {} } = run.environment;
  const [suite, digest] =
    ["suite", "cases"].map((name) => [name, run.run.digests[name]]).find(([, value]) => value) ??
    [];
  return [
    ["torch", told("torch")],
    ["CPU", told("cpu_capability") || machine.cpu_level || machine.cpu_features],
    ["level", run.run.level],
    [
      "suite",
      digest?.slice(0, 8),
      digest && `digest of the ${suite === "suite" ? "suite" : "case files"}: ${digest}`,
    ],
  ].filter(([, value]) => value);
}

/** Why a verdict is as it is, in a line: what is known says its own reason. */
const reasonOf = (verdict) =>
  (verdict.standing !== "new" && verdict.expectation?.reason) ||
  verdict.reason ||
  toleratedText(verdict);

/** Orders for the list; each ends with the order of the plan. */
const orders = {
  status: (a, b) => a.rank - b.rank,
  instance: (a, b) => (a.instance < b.instance ? -1 : a.instance > b.instance ? 1 : 0),
  path: (a, b) => pathOrder.get(a.path) - pathOrder.get(b.path),
  reason: (a, b) => {
    const [x, y] = [reasonOf(a), reasonOf(b)];
    return !x - !y || (x < y ? -1 : x > y ? 1 : 0);
  },
  grade: (a, b) => gradeOrder(b) - gradeOrder(a) || b.ulps - a.ulps,
  time: (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
};
const gradeOrder = (verdict) => grades.indexOf(verdict.grade ?? "bits");
// The paths that have a layer come first, lowest layer first.
const aboveOf = new Map(run.layers.map((layer) => [layer.path, layer.above]));
const pathOrder = new Map(
  [...new Set([...aboveOf.keys(), ...run.run.paths.map((path) => path.name)])].map(
    (name, order) => [name, order],
  ),
);

for (const path of Object.keys(run.totals[0].path))
  if (!pathOrder.has(path)) pathOrder.set(path, pathOrder.size);

const ways = new Map();
/** A path and the layers below it, lowest first. */
function wayOf(path) {
  if (!ways.has(path)) {
    const way = [];
    for (let layer = path; layer && !way.includes(layer); layer = aboveOf.get(layer))
      way.unshift(layer);
    ways.set(path, way);
  }
  return ways.get(path);
}

/** The layer on which a verdict's divergence `begins`: of its path and those below it, one of
 *  `diverging`. It is the `first` where all layers below it were judged. */
function divergenceOf(verdict) {
  const { first = [], unknown = [] } = run.diverging[verdict.instance] ?? {};
  if (run.layers.length === 0 || !statuses.get(verdict.status).diverges) return { first: false };
  const begins = wayOf(verdict.path).find((path) => first.includes(path));
  return { begins, first: begins === verdict.path && unknown.length === 0 };
}

// Sorted once, then only filtered: lists are made anew with each key that is typed.
const ordered = new Map();

/** All verdicts that are loaded, in one of the orders. */
function sorted(order, backwards) {
  const key = `${order} ${backwards}`;
  if (!ordered.has(key)) {
    const sign = backwards ? -1 : 1;
    ordered.set(
      key,
      [...run.verdicts].sort((a, b) => sign * orders[order](a, b) || a.place - b.place),
    );
  }
  return ordered.get(key);
}

const instances = new Map();
/** The verdicts of an instance: all, for no two parts share one. */
function onEveryPath(instance) {
  if (instances.size === 0) {
    for (const verdict of run.verdicts) {
      if (!instances.has(verdict.instance)) instances.set(verdict.instance, []);
      instances.get(verdict.instance).push(verdict);
    }
  }
  return instances.get(instance);
}

classifyAll(false);
take(run);
delete run.columns;
delete run.derived;

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
