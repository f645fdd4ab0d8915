// The page: what is chosen, kept in the address so that a link shows the same thing.

const $ = (id) => document.getElementById(id);
const state = { q: "", id: "", view: "list", sort: "status", down: false, strict: false };
let visible = [];
let chosen = null;

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  state.q = address.get("q") ?? "";
  state.id = address.get("id") ?? "";
  state.view = address.get("view") === "matrix" ? "matrix" : "list";
  const sort = address.get("sort") ?? "status";
  state.down = sort.startsWith("-");
  state.sort = Object.hasOwn(orders, sort.replace(/^-/, "")) ? sort.replace(/^-/, "") : "status";
  state.strict = address.get("strict") === "1";
}

function writeAddress() {
  const address = new URLSearchParams();
  if (state.q.trim()) address.set("q", state.q);
  if (state.view !== "list") address.set("view", state.view);
  if (state.sort !== "status" || state.down) address.set("sort", (state.down ? "-" : "") + state.sort);
  if (state.strict) address.set("strict", "1");
  if (state.id) address.set("id", state.id);
  history.replaceState(null, "", `#${address}`);
}

// --- the list and the matrix ---

const columns = [["status", "status"], ["instance", "instance"], ["path", "path"], ["grade", "grade"], ["time", "time"]];

const list = new Grid({
  label: "Verdicts",
  look: "verdict-grid",
  header: () => columns.map(([key, title]) => {
    const current = state.sort === key;
    return h("div", { role: "columnheader", class: `cell ${key}`, "aria-sort": current ? (state.down ? "descending" : "ascending") : "none" },
      h("button", { type: "button", class: "sort", onclick: () => sortBy(key) }, title,
        h("span", { "aria-hidden": "true" }, current ? (state.down ? " ↑" : " ↓") : "")));
  }),
  row: (verdict) => h("div", { class: `row kind-${verdict.kind}`, title: tidy(verdict.reason || toleratedText(verdict) || statuses.get(verdict.status).meaning) },
    h("div", { role: "gridcell", class: "cell status" }, h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)),
      h("span", {}, statuses.get(verdict.status).label), verdict.standing !== "new" && h("span", { class: "tag" }, verdict.standing)),
    h("div", { role: "gridcell", class: "cell instance" }, idParts(verdict.instance, true)),
    h("div", { role: "gridcell", class: "cell path" }, verdict.path),
    h("div", { role: "gridcell", class: "cell grade" }, verdict.grade ?? ""),
    h("div", { role: "gridcell", class: "cell time" }, seconds(verdict.seconds ?? 0))),
  choose: (verdict) => open(verdict, false),
  enter,
});

const paths = [...pathOrder.keys()];
const matrix = new Grid({
  label: "Matrix",
  look: "matrix-grid",
  header: () => [h("div", { role: "columnheader", class: "cell instance" }, "instance"),
    ...paths.map((path) => h("div", { role: "columnheader", class: "cell path", title: tidy(path) }, path))],
  row: (instance) => h("div", { class: "row" },
    h("div", { role: "rowheader", class: "cell instance", title: tidy(instance.name) }, idParts(instance.name, true)),
    paths.map((path, column) => {
      const verdict = instance.on.get(path);
      if (!verdict) return h("div", { role: "gridcell", class: "cell empty", "data-column": column, "aria-label": `${tidy(path)}: not run` });
      const { first } = departureOf(verdict);
      return h("div", { role: "gridcell", "data-column": column, "aria-label": `${tidy(path)}: ${statuses.get(verdict.status).label}, ${verdict.kind}${first ? ", departs first" : ""}`, title: tidy(verdict.reason || statuses.get(verdict.status).meaning),
        class: `cell square kind-${verdict.kind}${instance.matching.has(verdict) ? "" : " other"}${first ? " first" : ""}` },
        h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)), h("span", { class: "word" }, statuses.get(verdict.status).label));
    })),
  choose: (instance, column) => open(instance.on.get(paths[column]) ?? null, false),
  enter,
});
matrix.columns = paths.length;
$("list").style.setProperty("--path-width", `${7.4 * Math.min(20, Math.max(8, ...paths.map((path) => path.length))) + 6}px`);
$("list").classList.toggle("signs", paths.length > 3);  // no room for words

/** Instances that have a verdict in `verdicts`, in its order. */
function instancesOf(verdicts) {
  const byName = new Map();
  for (const verdict of verdicts) {
    if (!byName.has(verdict.instance)) {
      const on = new Map(onEveryPath(verdict.instance).map((other) => [other.path, other]));
      byName.set(verdict.instance, { name: verdict.instance, on, matching: new Set() });
    }
    byName.get(verdict.instance).matching.add(verdict);
  }
  return [...byName.values()];
}

function sortBy(key) {
  state.down = state.sort === key ? !state.down : false;
  state.sort = key;
  refresh();
  list.head.querySelector(`.${key} button`).focus();
}

// --- what is chosen ---

function open(verdict, follow = true) {
  chosen = verdict;
  state.id = verdict?.id ?? "";
  writeAddress();
  tell();
  if (!follow) return;
  place();
  enter(true);
}

/** Fills the pane on the right with what is chosen. */
async function tell() {
  const told = chosen;
  const story = told ? verdictDetails(await whole(told), open) : runDetails(open);
  if (told !== chosen) return;  // another one was chosen meanwhile
  $("details").replaceChildren(...[h("button", { type: "button", class: "plain back", onclick: back }, "← Back"), ...story].flat(Infinity).filter(Boolean));
  $("details").scrollTop = 0;
}

/** Shows the verdicts of one term, and nothing else. */
function narrow(term) {
  state.q = term;
  document.body.classList.remove("reading");
  refresh();
  current().body.focus({ preventScroll: true });
}

/** Shows the details; on a narrow page they cover the list. */
function enter(focus) {
  document.body.classList.add("reading");
  if (focus) $("details").focus({ preventScroll: true });
}

function back() {
  if (document.body.classList.contains("reading") && !$("list").contains(document.activeElement)) {
    document.body.classList.remove("reading");
    current().body.focus({ preventScroll: true });
  } else {
    document.body.classList.remove("reading");
    open(null, false);
    place();
  }
}

const current = () => (state.view === "matrix" ? matrix : list);

/** Gives the grid its items and finds the chosen verdict among them. */
function place() {
  const grid = current();
  if (state.view === "matrix") {
    const instances = instancesOf(visible);
    if (chosen) grid.column = Math.max(0, paths.indexOf(chosen.path));
    grid.show(instances, chosen ? instances.findIndex((instance) => instance.name === chosen.instance) : -1);
  } else {
    grid.show(visible, visible.indexOf(chosen));
  }
}

// --- summary ---

let summed = null;

/** Figures and chips: made anew where the counts changed, else only pressed or not. */
function summary() {
  if (summed !== totals) {
    summed = totals;
    fillSummary();
  }
  for (const button of document.querySelectorAll(".summary [data-term]")) button.setAttribute("aria-pressed", String(hasTerm(state.q, button.dataset.term)));
}

function fillSummary() {
  const { kind: byKind, status: byStatus, conforming } = totals;
  const toggle = (term) => () => {
    state.q = toggleTerm(state.q, term);
    if (term === "is:tolerated" && hasTerm(state.q, term)) [state.sort, state.down] = ["grade", false];  // worst first
    refresh();
    document.querySelector(`[data-term="${CSS.escape(term)}"]`)?.focus();
  };
  const shown = kinds.filter((kind) => byKind.get(kind.name) || kind.always);
  $("figures").replaceChildren(...shown.map((kind) => h("button", { type: "button", class: `figure kind-${kind.name}`, title: kind.meaning, "data-term": `is:${kind.name}`, onclick: toggle(`is:${kind.name}`) },
    h("b", {}, grouped(byKind.get(kind.name) ?? 0)), h("span", {}, kind.name))));
  $("bar").replaceChildren(...kinds.filter((kind) => byKind.get(kind.name)).map((kind) => {
    const piece = h("span", { class: `kind-${kind.name}` });
    piece.style.flexGrow = byKind.get(kind.name);
    return piece;
  }));
  $("chips").replaceChildren(...run.statuses.filter((status) => status.name !== "conform" && byStatus.get(status.name)).map((status) =>
    h("button", { type: "button", class: "chip", title: status.meaning, "data-term": `status:${status.name}`, onclick: toggle(`status:${status.name}`) },
      status.label, " ", h("b", {}, grouped(byStatus.get(status.name))))));
  $("rates").replaceChildren(...[...pathOrder.keys()].map((name) => [name, passRate(name)]).filter(([, passed]) => passed).map(([name, { rate, judged }]) =>
    h("button", { type: "button", class: "chip", title: `${tidy(name)}: conforming of ${grouped(judged)} judged; its verdicts`, "data-term": `path:${name}`, onclick: toggle(`path:${name}`) },
      name, " ", h("b", {}, percent(rate)))));
  // What conforms, by grade, and what of it was only let pass.
  const chip = (term, title, text) => conforming.has(term) && h("button", { type: "button", class: "chip", title, "data-term": term, onclick: toggle(term) }, text, " ", h("b", {}, grouped(conforming.get(term))));
  $("grades").replaceChildren(...[
    ...grades.map((grade) => chip(`grade:${grade}`, `the strictest that holds is ${grade}`, grade)),
    chip("is:tolerated", "conforms, and yet differs from eager; worst first by grade", "tolerated"),
    chip("is:weak", "conforms, and says little although something was compared", "weak"),
    chip("is:partly", "conforms, and others than the path's own code executed a part of it", "partly executed by others"),
    chip("is:stated", "conforms, and who executed it is stated, not observed", "executed as stated"),
    chip("is:vacuous", "conforms, and there was nothing to compare or to compile", "vacuous"),
  ].filter(Boolean));
  $("grades").hidden = $("grades").children.length === 0;
}

/** Takes the filter that is typed; while it says nothing yet, the one before stays, and the page says what is wrong. */
let understood = () => true;
function understand() {
  let fault = "";
  try {
    understood = compileFilter(state.q);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    fault = error.message;
  }
  $("fault").hidden = !fault;
  $("fault").textContent = tidy(fault);
  $("filter").setAttribute("aria-invalid", String(Boolean(fault)));
}

/** Everything that depends on filter, order and view. */
function refresh() {
  classifyAll(state.strict);
  if ($("filter").value !== state.q) $("filter").value = state.q;
  $("strict").checked = state.strict;
  understand();
  visible = sorted(state.sort, state.down).filter(understood);
  summary();
  const all = run.verdicts.length;
  $("count").textContent = visible.length === all ? `${grouped(all)} verdict${all === 1 ? "" : "s"}` : `${grouped(visible.length)} of ${grouped(all)}`;
  for (const view of ["list", "matrix"]) $(`view-${view}`).setAttribute("aria-pressed", String(state.view === view));
  const nothing = $("list").querySelector(".nothing");
  if ($("list").firstChild !== current().element || nothing || visible.length === 0)
    $("list").replaceChildren(current().element, ...(visible.length === 0 ? [h("p", { class: "nothing" }, all === 0 ? "This run has no verdicts." : "Nothing matches this filter.")] : []));
  place();
  writeAddress();
}

function warn() {
  const done = run.verdicts.length;
  const lines = [];
  if (!run.complete)
    lines.push(`The run ${run.end?.interrupted ? "was interrupted" : run.end ? "stopped" : "was killed, or is not over,"} after ${grouped(done)} of ${grouped(run.run.planned)} verdicts.`);
  if (run.judged_too_little) lines.push(`Lockstep ${run.judged_too_little}.`);
  if (lines.length === 0) return;
  $("alert").hidden = false;
  $("alert").textContent = lines.join(" ");
}

function restore() {
  readAddress();
  chosen = run.verdicts.find((verdict) => verdict.id === state.id) ?? null;
  classifyAll(state.strict);
  open(chosen, false);
  if (chosen) enter(false);
  refresh();
}

$("filter").addEventListener("input", () => {
  state.q = $("filter").value;
  refresh();
});
$("filter").addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === "ArrowDown") {
    current().body.focus();
    if (current().place < 0) current().move(0, 0);
    event.preventDefault();
  }
});
$("strict").addEventListener("change", () => {
  state.strict = $("strict").checked;
  refresh();
  open(chosen, false);
});
for (const view of ["list", "matrix"]) {
  $(`view-${view}`).addEventListener("click", () => {
    state.view = view;
    refresh();
  });
}
$("show-run").addEventListener("click", () => open(null));
$("show-keys").addEventListener("click", () => $("keys").showModal());
addEventListener("hashchange", restore);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.key === "Escape") {
    if (typing) current().body.focus();
    else back();
  } else if (typing) {
    return;
  } else if (event.key === "/") {
    $("filter").focus();
    $("filter").select();
  } else if (event.key === "m") {
    $(state.view === "matrix" ? "view-list" : "view-matrix").click();
  } else if (event.key === "c" && chosen?.repro) {
    $("details").querySelector(".copy")?.click();
  } else if (event.key === "?") {
    $("keys").showModal();
  } else if ((event.key === "j" || event.key === "k") && event.target !== current().body) {
    current().body.focus();
    current().move(current().place + (event.key === "j" ? 1 : -1));
  } else {
    return;
  }
  event.preventDefault();
});

$("subtitle").textContent = tidy(`${run.run.arguments.join(" ")}  ·  ${run.run.started.replace("T", " ").replace("Z", " UTC")}`);
$("setting").append(...setting().map(([what, value, more]) => h("div", { title: more }, h("dt", {}, what), h("dd", {}, value))));
$("keys").append(...helpText());
$("app").hidden = false;
document.documentElement.classList.add("js");
warn();
restore();
})();
