// How much of what was judged conforms, by operator and dtype.

const everyDtype = "all";
const noInput = "no input"; // of a case whose inputs are no tensors

/** The dtypes that occur, the most common first. */
function dtypesOf(verdicts) {
  const counts = new Map();
  for (const verdict of verdicts)
    for (const dtype of verdict.dtypes ?? [noInput])
      counts.set(dtype, (counts.get(dtype) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([dtype]) => dtype);
}

const plainOperator = (name) =>
  tidy(name)
    .replace(/^aten::/, "")
    .replace(/\.default$/, "");

/** "aten::add_.Tensor" is add, as fingerprints name it. */
const basePart = (name) =>
  operatorNames(name)
    .at(name.includes("::") ? 2 : 1)
    .replace(/([^_])_$/, "$1");

/** The operators that the fingerprints of a verdict accuse; null where it conforms, or has none. */
function accusedBy(verdict) {
  if (verdict.status === "conform" || !verdict.fingerprints?.length) return null;
  const names = verdict.fingerprints.map((each) => each.split(":")[0].replace(/-gradient$/, ""));
  return new Set(names.filter((each) => !each.includes("/")).flatMap((each) => each.split("+")));
}

/** A row for each operator of the verdicts, those that fail most first. A verdict that conforms
 *  counts for each of its operators and dtypes, another one for those whom its fingerprints
 *  accuse. */
function operatorsOf(verdicts) {
  const rows = new Map();
  for (const verdict of verdicts) {
    const accuses = accusedBy(verdict);
    for (const name of verdict.operators ?? none) {
      if (!rows.has(name)) rows.set(name, { name, plain: plainOperator(name), cells: new Map() });
      const { cells } = rows.get(name);
      for (const dtype of [everyDtype, ...(verdict.dtypes ?? [noInput])]) {
        if (!cells.has(dtype))
          cells.set(dtype, { judged: 0, conform: 0, failing: 0, unjudged: 0, beside: 0 });
        const cell = cells.get(dtype);
        if (!statuses.get(verdict.status).judged) ++cell.unjudged;
        else if (accuses && !accuses.has(basePart(name))) ++cell.beside;
        else ++cell.judged;
        if (verdict.status === "conform") ++cell.conform;
        if (verdict.kind === "failing" && accuses?.has(basePart(name)) !== false) ++cell.failing;
      }
    }
  }
  const rate = ({ judged, conform }) => (judged ? conform / judged : 2);
  const all = (row) => row.cells.get(everyDtype);
  return [...rows.values()].sort(
    (a, b) =>
      all(b).failing - all(a).failing ||
      rate(all(a)) - rate(all(b)) ||
      (a.plain < b.plain ? -1 : 1),
  );
}

/** What a cell says, in short and in a sentence. */
function rateOf(cell) {
  const { judged, conform, failing, beside, unjudged } = cell;
  const told = [
    judged ? `${grouped(conform)} of ${grouped(judged)} judged conform` : "nothing judged",
    failing && `${grouped(failing)} fail`,
    beside && `${grouped(beside)} diverge for others`,
    unjudged && `${grouped(unjudged)} not judged`,
  ];
  return {
    kind: failing ? "failing" : !judged ? "skipped" : conform < judged ? "known" : "conform",
    text: judged ? percent(conform, judged).replace(" ", "\u202f") : "–",
    told: told.filter(Boolean).join(", "),
  };
}

/** The pane on the right for one cell: its verdicts, worst first. */
function cellDetails(row, dtype, verdicts, open) {
  const some = verdicts.filter(
    (verdict) =>
      verdict.operators?.includes(row.name) &&
      (dtype === everyDtype || (verdict.dtypes ?? [noInput]).includes(dtype)),
  );
  const term = [`op:${row.plain}`, dtype !== everyDtype && dtype !== noInput && `dtype:${dtype}`]
    .filter(Boolean)
    .join(" ");
  const shown = 50;
  return [
    h(
      "header",
      { class: "headline" },
      h("h2", {}, `${row.plain}${dtype === everyDtype ? "" : ` · ${dtype}`}`),
      h("p", { class: "reason" }, `${rateOf(row.cells.get(dtype)).told}.`),
    ),
    h(
      "div",
      { class: "copies" },
      h(
        "button",
        { type: "button", class: "plain", onclick: () => narrow(term) },
        "Show all its verdicts",
      ),
    ),
    section(
      "Its verdicts",
      h(
        "ul",
        { class: "siblings" },
        some
          .slice(0, shown)
          .map((verdict) =>
            h(
              "li",
              {},
              h(
                "button",
                { type: "button", onclick: () => open(verdict) },
                h("span", { class: "id" }, verdict.id),
                badge(verdict),
              ),
            ),
          ),
      ),
      some.length > shown && h("p", { class: "label" }, `and ${grouped(some.length - shown)} more`),
    ),
  ];
}
