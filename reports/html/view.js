// The page: what is chosen, kept in the address so that a link shows the same thing.

const $ = (id) => document.getElementById(id);
const state = { q: "", id: "", view: "list", sort: "status", down: false, strict: false };
let visible = [];
let chosen = null;

function readAddress() {
  const address = new URLSearchParams(location.hash.slice(1));
  state.q = address.get("q") ?? "";
  state.id = address.get("id") ?? "";
  state.view = Object.hasOwn(grids, address.get("view")) ? address.get("view") : "list";
  const sort = address.get("sort") ?? "status";
  state.down = sort.startsWith("-");
  state.sort = Object.hasOwn(orders, sort.replace(/^-/, "")) ? sort.replace(/^-/, "") : "status";
  state.strict = address.get("strict") === "1";
}

function writeAddress() {
  const address = new URLSearchParams();
  if (state.q.trim()) address.set("q", state.q);
  if (state.view !== "list") address.set("view", state.view);
  if (state.sort !== "status" || state.down)
    address.set("sort", (state.down ? "-" : "") + state.sort);
  if (state.strict) address.set("strict", "1");
  if (state.id) address.set("id", state.id);
  history.replaceState(null, "", `#${address}`);
}

// --- the list and the matrices ---

const columns = ["status", "instance", "path", "grade", "time", "reason"];
const narrowPage = matchMedia("(max-width: 900px)");
const line = 18; // pixels of a line of text in a row, and what is above and below them
const around = 16;
const cellPadding = 32; // of the first cell of a matrix

/** Pixels of a character of an id, measured once. */
const perCharacter = (() => {
  const probe = h("span", { class: "probe-id offscreen" }, "0".repeat(100));
  document.body.append(probe);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return width;
})();

/** Where the lines of a text end that has room for so many characters: after a sign where there is
 *  one, and before the matrix of an id. */
function endsOf(text, fit, matrix = text.length) {
  const ends = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + fit);
    if (from < matrix && matrix < end && end < text.length) end = matrix;
    if (end < text.length && end !== matrix) {
      const sign =
        1 + Math.max(...["-", "/", ",", "_", "."].map((each) => text.lastIndexOf(each, end - 1)));
      if (sign > from + fit / 2) end = sign;
    }
    ends.push(end);
    from = end;
  }
  return ends.length ? ends : [0];
}

/** The lines of an id in a column so wide; of each its parts: folder, case and matrix. */
function linesOf(instance, width) {
  const fit = Math.max(8, Math.floor(width / perCharacter));
  if (instance.length <= fit) return [instance.length];
  const parts = idTexts(instance, true);
  const text = parts.join("");
  return endsOf(text, fit, text.length - parts[2].length);
}

/** The cell of an id, of which nothing is cut. */
function idCell(instance, width, role) {
  const ends = linesOf(instance, width);
  const parts = idTexts(instance, true);
  let from = 0;
  const lines = ends.map((end) => {
    let begin = 0;
    const pieces = parts.map((part, place) => {
      const piece = part.slice(Math.max(0, from - begin), Math.max(0, end - begin));
      begin += part.length;
      return piece && h("span", { class: idLooks[place] }, piece);
    });
    from = end;
    return h("div", {}, pieces);
  });
  return h("div", { role, class: "cell instance", title: tidy(instance) }, lines);
}

const pathCharacters = Math.min(
  24,
  Math.max(8, ...[...pathOrder.keys()].map((path) => path.length)),
);

const list = new Grid({
  label: "Verdicts",
  look: "verdict-grid",
  header: () =>
    columns.map((key) => {
      const current = state.sort === key;
      return h(
        "div",
        {
          role: "columnheader",
          class: `cell ${key}`,
          "aria-sort": current ? (state.down ? "descending" : "ascending") : "none",
        },
        h(
          "button",
          { type: "button", class: "sort", onclick: () => sortBy(key) },
          key,
          h("span", { "aria-hidden": "true" }, current ? (state.down ? " ↑" : " ↓") : ""),
        ),
      );
    }),
  row: (verdict) =>
    h(
      "div",
      {
        class: `row kind-${verdict.kind}`,
        title: tidy(
          verdict.reason || toleratedText(verdict) || statuses.get(verdict.status).meaning,
        ),
      },
      h(
        "div",
        { role: "gridcell", class: "cell status" },
        h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)),
        h("span", {}, statuses.get(verdict.status).label),
        verdict.standing !== "new" && h("span", { class: "tag" }, verdict.standing),
      ),
      idCell(verdict.instance, list.width, "gridcell"),
      h("div", { role: "gridcell", class: "cell path" }, verdict.path),
      h("div", { role: "gridcell", class: "cell grade" }, verdict.grade ?? ""),
      h("div", { role: "gridcell", class: "cell time" }, seconds(verdict.seconds ?? 0)),
      h("div", { role: "gridcell", class: "cell reason" }, reasonOf(verdict)),
    ),
  roomOf: (grid) =>
    narrowPage.matches
      ? grid.body.clientWidth - 28
      : grid.head.querySelector(".instance").clientWidth,
  heightOf: (verdict, width) => {
    const id = linesOf(verdict.instance, width).length;
    const first = narrowPage.matches
      ? id + 1
      : Math.max(id, Math.ceil(verdict.path.length / pathCharacters));
    return around + line * (first + (reasonOf(verdict) ? 1 : 0));
  },
  choose: (verdict) => open(verdict, false),
  enter,
});

const paths = [...pathOrder.keys()];
const matrix = new Grid({
  label: "Matrix",
  look: "matrix-grid",
  header: () => [
    h("div", { role: "columnheader", class: "cell instance" }, "instance"),
    ...paths.map((path) =>
      h(
        "div",
        { role: "columnheader", class: "cell path", title: tidy(path) },
        h("span", {}, path),
      ),
    ),
  ],
  heightOf: ({ name }, width) => around + line * linesOf(name, width - cellPadding).length,
  row: (instance) =>
    h(
      "div",
      { class: "row" },
      idCell(instance.name, matrix.width - cellPadding, "rowheader"),
      paths.map((path, column) => {
        const verdict = instance.on.get(path);
        if (!verdict)
          return h("div", {
            role: "gridcell",
            class: "cell empty",
            "data-column": column,
            "aria-label": `${tidy(path)}: not run`,
          });
        const { first } = divergenceOf(verdict);
        return h(
          "div",
          {
            role: "gridcell",
            "data-column": column,
            "aria-label": `${tidy(path)}: ${statuses.get(verdict.status).label}, ${verdict.kind}${first ? ", diverges first" : ""}`,
            title: tidy(verdict.reason || statuses.get(verdict.status).meaning),
            class: `cell square kind-${verdict.kind}${instance.matching.has(verdict) ? "" : " other"}${first ? " first" : ""}`,
          },
          h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)),
          h("span", { class: "word" }, statuses.get(verdict.status).label),
        );
      }),
    ),
  choose: (instance, column) => open(instance.on.get(paths[column]) ?? null, false),
  enter,
});
matrix.columns = paths.length;
$("list").style.setProperty("--path-width", `${7.4 * pathCharacters + 6}px`);
$("list").classList.toggle("signs", paths.length > 3); // no room for words

const operatorLines = (text, width) =>
  endsOf(text, Math.max(8, Math.floor((width - cellPadding) / perCharacter)));
let dtypes = [everyDtype];
const operators = new Grid({
  label: "Operators",
  look: "matrix-grid rate-grid",
  header: () => [
    h(
      "div",
      {
        role: "columnheader",
        class: "cell instance",
        title:
          "how much of what was judged conforms; a verdict counts for each of its operators and dtypes",
      },
      "operator",
    ),
    ...dtypes.map((dtype) =>
      h(
        "div",
        { role: "columnheader", class: "cell path", title: tidy(dtype) },
        h("span", {}, dtype),
      ),
    ),
  ],
  heightOf: ({ plain }, width) => around + line * operatorLines(plain, width).length,
  row: (row) =>
    h(
      "div",
      { class: "row" },
      h(
        "div",
        { role: "rowheader", class: "cell instance", title: tidy(row.name) },
        operatorLines(row.plain, operators.width).map((end, place, ends) =>
          h("div", {}, row.plain.slice(ends[place - 1] ?? 0, end)),
        ),
      ),
      dtypes.map((dtype, column) => {
        const cell = row.cells.get(dtype);
        if (!cell)
          return h("div", {
            role: "gridcell",
            class: "cell empty",
            "data-column": column,
            "aria-label": `${tidy(dtype)}: nothing`,
          });
        const { kind, text, told } = rateOf(cell);
        return h(
          "div",
          {
            role: "gridcell",
            "data-column": column,
            class: `cell square kind-${kind}`,
            title: told,
            "aria-label": `${tidy(dtype)}: ${told}`,
          },
          text,
        );
      }),
    ),
  choose: (row, column) =>
    row.cells.has(dtypes[column]) && tell(cellDetails(row, dtypes[column], visible, open)),
  enter,
});

const grids = { list, matrix, operators };

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

/** Opens the verdict of an id, from whichever part. */
async function seek(id, focus = true) {
  state.id = id;
  writeAddress();
  if (!verdictOf(id)) await loadUntil(() => verdictOf(id));
  if (state.id !== id) return; // something else was chosen meanwhile
  open(verdictOf(id) ?? null, false);
  if (!chosen) return;
  place();
  enter(focus);
}

let telling = 0;
/** Fills the pane on the right with `other`, or else with what is chosen. */
async function tell(other = null) {
  const mine = ++telling;
  const story = other ?? (chosen ? verdictDetails(await whole(chosen), open) : runDetails(seek));
  if (mine !== telling) return; // something else was chosen meanwhile
  $("details").replaceChildren(
    ...[h("button", { type: "button", class: "plain back", onclick: back }, "← Back"), ...story]
      .flat(Infinity)
      .filter(Boolean),
  );
  $("details").scrollTop = 0;
}

/** Shows the verdicts of one term, and nothing else. */
function narrow(term) {
  state.q = term;
  if (state.view === "operators") state.view = "list";
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

const current = () => grids[state.view];

/** Gives the grid its items and finds the chosen verdict among them. */
function place() {
  const grid = current();
  if (state.view === "matrix") {
    const instances = instancesOf(visible);
    if (chosen) grid.column = Math.max(0, paths.indexOf(chosen.path));
    grid.show(
      instances,
      chosen ? instances.findIndex((instance) => instance.name === chosen.instance) : -1,
    );
  } else if (state.view === "operators") {
    const loaded = unloaded() === 0;
    if (loaded && grid.columns === 1) {
      dtypes = [everyDtype, ...dtypesOf(run.verdicts)];
      grid.columns = dtypes.length;
    }
    grid.show(loaded ? operatorsOf(visible) : none, -1);
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
  for (const button of document.querySelectorAll(".summary [data-term]"))
    button.setAttribute("aria-pressed", String(hasTerm(state.q, button.dataset.term)));
}

/** How much conforms by path: where paths judged other instances, of those that every path judged,
 *  which alone can be compared; where there are none, with how many each is of. */
function drawRates(toggle) {
  const { differ, paths } = run.rates;
  const common = differ && paths[0].common.judged > 0;
  const all = grouped(paths[0]?.common.judged ?? 0);
  $("rates").dataset.label = common
    ? `conform by path, of the ${all} instance${all === "1" ? "" : "s"} that every path judged`
    : differ
      ? "conform by path, each of other instances"
      : "conform by path";
  $("rates").replaceChildren(
    ...paths.map(({ path, own, common: shared }) => {
      const { conform, judged } = common ? shared : own;
      return h(
        "button",
        {
          type: "button",
          class: "chip",
          title: `${tidy(path)}: ${percent(own.conform, own.judged)} of ${grouped(own.judged)} judged conform; its verdicts`,
          "data-term": `path:${path}`,
          onclick: toggle(`path:${path}`),
        },
        path,
        " ",
        h("b", {}, percent(conform, judged)),
        differ && !common && ` of ${grouped(judged)}`,
      );
    }),
  );
}

function fillSummary() {
  const { kind: byKind, status: byStatus, conforming } = totals;
  const toggle = (term) => () => {
    state.q = toggleTerm(state.q, term);
    if (term === "is:tolerated" && hasTerm(state.q, term))
      [state.sort, state.down] = ["grade", false]; // worst first
    refresh();
    document.querySelector(`[data-term="${CSS.escape(term)}"]`)?.focus();
  };
  const shown = kinds.filter((kind) => byKind.get(kind.name) || kind.always);
  $("figures").replaceChildren(
    ...shown.map((kind) =>
      h(
        "button",
        {
          type: "button",
          class: `figure kind-${kind.name}`,
          title: kind.meaning,
          "data-term": `is:${kind.name}`,
          onclick: toggle(`is:${kind.name}`),
        },
        h("b", {}, grouped(byKind.get(kind.name) ?? 0)),
        h("span", {}, kind.name),
      ),
    ),
  );
  $("bar").replaceChildren(
    ...kinds
      .filter((kind) => byKind.get(kind.name))
      .map((kind) => {
        const piece = h("span", { class: `kind-${kind.name}` });
        piece.style.flexGrow = byKind.get(kind.name);
        return piece;
      }),
  );
  $("chips").replaceChildren(
    ...run.statuses
      .filter((status) => status.name !== "conform" && byStatus.get(status.name))
      .map((status) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            title: status.meaning,
            "data-term": `status:${status.name}`,
            onclick: toggle(`status:${status.name}`),
          },
          status.label,
          " ",
          h("b", {}, grouped(byStatus.get(status.name))),
        ),
      ),
  );
  drawRates(toggle);
  // What conforms, by grade, and what of it was only let pass.
  const chip = (term, title, text) =>
    conforming.has(term) &&
    h(
      "button",
      { type: "button", class: "chip", title, "data-term": term, onclick: toggle(term) },
      text,
      " ",
      h("b", {}, grouped(conforming.get(term))),
    );
  $("grades").replaceChildren(
    ...[
      ...grades.map((grade) =>
        chip(`grade:${grade}`, `the strictest that holds is ${grade}`, grade),
      ),
      ...run.marks.map(({ name, label, meaning }) =>
        chip(`is:${name}`, `conforms, and ${meaning}`, label),
      ),
    ].filter(Boolean),
  );
  $("grades").hidden = $("grades").children.length === 0;
}

/** Takes the filter that is typed; while it says nothing yet, the one before stays, and the page
 *  says what is wrong. */
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

let waiting = 0; // for parts of a long run

/** Loads parts until there is `enough`, and shows what there is then. */
async function loadUntil(enough) {
  if (unloaded() === 0) return;
  ++waiting;
  await load(enough, drawMore);
  --waiting;
  refresh();
}
const anyMatches = () => run.verdicts.some(understood);

/** The button that loads what is not loaded. */
function drawMore() {
  $("more").hidden = unloaded() === 0;
  $("more").disabled = waiting > 0;
  $("more").textContent = waiting
    ? `Loading: ${grouped(run.verdicts.length)} of ${grouped(run.count)}`
    : `Load ${grouped(unloaded())} more`;
}

/** How many verdicts the list has, and of how many. */
function countText() {
  const [shown, loaded, all] = [visible.length, run.verdicts.length, run.count];
  if (shown === all) return `${grouped(all)} verdict${all === 1 ? "" : "s"}`;
  if (loaded === all) return `${grouped(shown)} of ${grouped(all)}`;
  return `${grouped(shown)} of ${grouped(shown === loaded ? all : loaded)} loaded`;
}

/** Why the list is empty; nothing where it is not. */
function nothingText() {
  if (state.view === "operators" && unloaded() > 0)
    return "This table counts all verdicts: it waits until they are loaded.";
  if (visible.length > 0) return "";
  if (run.count === 0) return "This run has no verdicts.";
  return `Nothing ${unloaded() > 0 ? "that is loaded " : ""}matches this filter.`;
}

/** Everything that depends on filter, order and view. */
function refresh() {
  classifyAll(state.strict);
  if ($("filter").value !== state.q) $("filter").value = state.q;
  $("strict").checked = state.strict;
  understand();
  visible = sorted(state.sort, state.down).filter(understood);
  summary();
  $("count").textContent = countText();
  drawMore();
  for (const view of Object.keys(grids))
    $(`view-${view}`).setAttribute("aria-pressed", String(state.view === view));
  $("panes").classList.toggle("wide", state.view !== "list");
  const nothing = nothingText();
  if ($("list").firstChild !== current().element || nothing || $("list").children.length > 1)
    $("list").replaceChildren(
      current().element,
      ...(nothing ? [h("p", { class: "nothing" }, nothing)] : []),
    );
  place();
  writeAddress();
  if (state.view === "operators" && unloaded() > 0 && !waiting) loadUntil(() => false);
}

function warn() {
  const done = run.count;
  const lines = [];
  if (!run.complete)
    lines.push(
      `The run ${run.end?.interrupted ? "was interrupted" : run.end ? "stopped" : "was killed, or is not over,"} after ${grouped(done)} of ${grouped(run.run.planned)} verdicts.`,
    );
  if (run.judged_too_little) lines.push(`Lockstep ${run.judged_too_little}.`);
  if (lines.length === 0) return;
  $("alert").hidden = false;
  $("alert").textContent = lines.join(" ");
}

/** Shows what the address says. The verdict that it names, or any that its filter matches, is looked
 *  for in the parts that are not loaded, too. */
function restore() {
  readAddress();
  const { id } = state;
  classifyAll(state.strict);
  open(verdictOf(id) ?? null, false);
  if (chosen) enter(false);
  refresh();
  if (id && !chosen && unloaded() > 0) seek(id, false);
  else if (visible.length === 0) loadUntil(anyMatches);
}

$("filter").addEventListener("input", () => {
  state.q = $("filter").value;
  refresh();
});
$("filter").addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === "ArrowDown") {
    current().body.focus();
    if (current().place < 0) current().move(0, 0);
    if (visible.length === 0) loadUntil(anyMatches);
    event.preventDefault();
  }
});
$("strict").addEventListener("change", () => {
  state.strict = $("strict").checked;
  refresh();
  open(chosen, false);
});
for (const view of Object.keys(grids)) {
  $(`view-${view}`).addEventListener("click", () => {
    state.view = view;
    refresh();
  });
}
$("more").addEventListener("click", async () => {
  await loadUntil(() => false);
  current().body.focus({ preventScroll: true });
});
$("show-run").addEventListener("click", () => open(null));
$("show-keys").addEventListener("click", () => $("keys").showModal());
addEventListener("hashchange", restore);
addEventListener("beforeprint", () =>
  $("paper").replaceChildren(
    ...paper(
      chosen && [...$("details").childNodes].map((node) => node.cloneNode(true)),
      visible,
      state.q,
    )
      .flat(Infinity)
      .filter(Boolean),
  ),
);
addEventListener("afterprint", () => $("paper").replaceChildren());
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const typing =
    /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.key === "Escape") {
    if (typing) current().body.focus();
    else back();
  } else if (typing) {
    return;
  } else if (event.key === "/") {
    $("filter").focus();
    $("filter").select();
  } else if (event.key === "m") {
    const views = Object.keys(grids);
    $(`view-${views[(views.indexOf(state.view) + 1) % views.length]}`).click();
  } else if (event.key === "c" && chosen) {
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

$("subtitle").textContent = tidy(
  `${run.run.arguments.join(" ")}  ·  ${run.run.started.replace("T", " ").replace("Z", " UTC")}`,
);
$("setting").append(
  ...setting().map(([what, value, more]) =>
    h("div", { title: more }, h("dt", {}, what), h("dd", {}, value)),
  ),
);
$("keys").append(...helpText());
$("app").hidden = false;
document.documentElement.classList.add("js");
warn();
restore();
