// How far both sides are from the truth, by operator: a table that sorts and filters.

const inputKinds = run.input_kinds;
const accuracyShown = 200; // rows in the page at once; the filter narrows them down

/** Ulps for people, and as numbers to sort by; -1 where such inputs did not occur. */
const ulpText = (value) =>
  value === undefined ? "–" : value >= 1e5 ? value.toExponential(1) : short(value);
const ulpNumber = (value) => (value === undefined ? -1 : value === "inf" ? Infinity : value);

const accuracyColumns = [
  {
    title: "operator",
    of: (row) => `${row.name} ${row.dtype} ${row.path}`,
    hint: (row) => row.name,
    text: (row) => [
      h(
        "div",
        {},
        tidy(row.name)
          .replace(/^aten::/, "")
          .replace(/\.default(?= |$)/, ""),
      ),
      h("div", { class: "label" }, tidy(`${row.dtype} · ${row.path}`)),
    ],
  },
  {
    title: "differing",
    number: true,
    of: (row) => row.differing,
    text: (row) => grouped(row.differing),
    hint: (row) => `of ${grouped(row.elements)}`,
  },
  ...inputKinds.flatMap((kind) =>
    ["eager", "compiled"].map((side) => ({
      title: side,
      number: true,
      of: (row) => ulpNumber(row[kind]?.[side]),
      text: (row) => ulpText(row[kind]?.[side]),
      hint: (row) => row[kind] && `${grouped(row[kind].elements)} elements with ${kind} inputs`,
    })),
  ),
];

/** The section of the run's pane, closed at first; nothing where no case was pointwise. */
function accuracySection() {
  if (!run.accuracy) return null;
  const { rows, not_swept: notSwept } = run.accuracy;
  let order = { column: accuracyColumns[0], down: false };
  const body = h("tbody", {});
  const count = h("output", { "aria-live": "polite" });
  const filter = h("input", {
    type: "search",
    class: "narrow",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Filter operators",
    placeholder: "operator, dtype or path",
  });
  const heads = accuracyColumns.map((column) =>
    h(
      "th",
      { scope: "col", class: column.number ? "number" : "" },
      h("button", { type: "button", class: "sort", onclick: () => sortBy(column) }, column.title),
    ),
  );

  function sortBy(column) {
    // Numbers begin with the greatest.
    order = { column, down: order.column === column ? !order.down : Boolean(column.number) };
    draw();
  }
  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) =>
      words.every((word) => `${row.name} ${row.dtype} ${row.path}`.toLowerCase().includes(word)),
    );
    const { column, down } = order;
    found.sort(
      (a, b) =>
        (column.of(a) < column.of(b) ? -1 : column.of(a) > column.of(b) ? 1 : 0) * (down ? -1 : 1),
    );
    for (const [place, head] of heads.entries()) {
      const order = down ? "descending" : "ascending";
      head.setAttribute("aria-sort", accuracyColumns[place] === column ? order : "none");
    }
    body.replaceChildren(
      ...found.slice(0, accuracyShown).map((row) =>
        h(
          "tr",
          {},
          accuracyColumns.map(({ number, text, of, hint }, place) =>
            h(
              place === 0 ? "th" : "td",
              {
                scope: place === 0 ? "row" : null,
                title: hint?.(row) || null,
                class:
                  `${number ? "number" : ""} ${of(row) === Infinity ? "ink-failing" : ""}`.trim() ||
                  null,
              },
              text(row),
            ),
          ),
        ),
      ),
    );
    count.textContent =
      found.length > accuracyShown
        ? `the first ${accuracyShown} of ${grouped(found.length)} rows`
        : `${grouped(found.length)} rows`;
  }
  filter.addEventListener("input", draw);
  draw();
  return h(
    "details",
    { class: "part accuracy" },
    h(
      "summary",
      {},
      h("h3", {}, `Accuracy of ${grouped(rows.length)} operators, dtypes and paths`),
    ),
    h(
      "p",
      { class: "label" },
      "Greatest error against the fp64 gold in ulp of the output’s dtype, where the inputs are normal, subnormal or special (zero, infinity, NaN). inf: a NaN or an infinity is wrong.",
    ),
    h("div", { class: "filterline" }, filter, count),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Accuracy" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", { colspan: accuracyColumns.length - 2 * inputKinds.length }),
            inputKinds.map((kind) =>
              h("th", { scope: "colgroup", colspan: 2, class: "number" }, kind),
            ),
          ),
          h("tr", {}, heads),
        ),
        body,
      ),
    ),
    notSwept.length > 0 && [
      h("p", { class: "label" }, "Not swept:"),
      h(
        "ul",
        { class: "links" },
        notSwept.map((group) =>
          h(
            "li",
            { title: tidy(group.names.join(", ")) },
            `${grouped(group.names.length)} operator${group.names.length === 1 ? "" : "s"}: `,
            h("code", {}, group.reason),
          ),
        ),
      ),
    ],
  );
}
