// What one output says: its worst element, where and how far it diverges, and how near either side
// is to the truth.

/** A spelling of a number as the digits that count, and the rest (its exponent, or all of "nan" and
 *  "inf"). */
function spelt(text) {
  const [, digits, rest] = /^([-+]?[0-9.]*)(.*)$/s.exec(text);
  return { digits, rest };
}

/** Two spellings of a number, with what differs set apart: of the digits from the first that
 *  differs, the exponent where it does. */
function pair(name, eager, compiled) {
  const [a, b] = [spelt(eager), spelt(compiled)];
  let same = 0;
  while (same < a.digits.length && a.digits[same] === b.digits[same]) ++same;
  const marked = (text) => text && h("mark", {}, text);
  const row = (side, { digits, rest }) =>
    h(
      "div",
      {},
      h("dt", {}, side),
      h(
        "dd",
        {},
        digits.slice(0, same),
        marked(digits.slice(same)),
        a.rest === b.rest ? rest : marked(rest),
      ),
    );
  return h("dl", { class: "pair" }, row("eager", a), row(name, b));
}

const classNames = {
  nan: "NaN",
  infinity: "infinity",
  zero_sign: "sign of zero",
  subnormal: "subnormal",
  last_bits: "last bits",
  value: "value",
};

/** In which ways elements differ: "12 NaN, 3 last bits". */
function classes(counts) {
  return Object.entries(classNames)
    .filter(([key]) => counts?.[key])
    .map(([key, name]) => `${grouped(counts[key])} ${name}`)
    .join(", ");
}

/** How far both sides are from the gold (a log leaves out what is 0), as far as the judge looked
 *  (pointwise cases). */
function accuracy(verdict, rows, gold) {
  const cell = (value = 0) =>
    h("td", { class: `number ${value === "inf" ? "ink-failing" : ""}`.trim() }, ulpText(value));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Accuracy of this output" },
    h(
      "table",
      { class: "golds" },
      h("caption", { class: "label" }, `greatest error against the fp64 gold (${gold}), in ulp`),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["inputs", "elements", "eager", verdict.path].map((title, place) =>
            h("th", { scope: "col", class: place ? "number" : null }, title),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, row.inputs),
            h("td", { class: "number" }, grouped(row.elements)),
            cell(row.eager),
            cell(row.compiled),
          ),
        ),
      ),
    ),
  );
}

/** The element that decided: it comes before those that differ first. */
function decisive(verdict, shown) {
  if (shown.eager === undefined && shown.compiled === undefined) return null;
  const at = shown.worst?.join(", ");
  const known = shown.first?.find((first) => first.index?.join(", ") === at)?.inputs;
  return h(
    "div",
    { class: "worst" },
    h(
      "p",
      { class: "label" },
      `worst element${shown.worst ? `, [${at}]` : ""}${known ? ` ${known.join(", ")}` : ""}`,
    ),
    pair(verdict.path, tidy(shown.eager ?? ""), tidy(shown.compiled ?? "")),
  );
}

function numbers(verdict, shown) {
  const differing = shown.differing ?? 0;
  return h(
    "article",
    { class: shown.status === "conform" ? "numbers" : `numbers bad kind-${verdict.kind}` },
    h(
      "header",
      {},
      h("h4", {}, shown.name),
      h("span", { class: "type" }, shown.type ?? ""),
      grading(shown.grade),
    ),
    shown.reason && !(verdict.reason ?? "").includes(shown.reason) && h("p", {}, shown.reason),
    facts([
      [
        "status",
        shown.status === "conform" || shown.status === verdict.status
          ? ""
          : statuses.get(shown.status).label,
      ],
      ["policy", shown.policy],
      [
        "elements that differ",
        shown.elements === undefined ? "" : `${grouped(differing)} of ${grouped(shown.elements)}`,
      ],
      ["which", shown.first && classes(shown.classes)],
      ["absolute", shown.max_abs === undefined ? "" : short(shown.max_abs)],
      ["relative", shown.max_rel === undefined ? "" : short(shown.max_rel)],
      ["ulp", shown.max_ulp === undefined ? "" : grouped(shown.max_ulp)],
      ["vacuous", shown.vacuous ? "all zeros, all NaN or empty" : ""],
    ]),
    shown.tensors?.length > 0 &&
      h(
        "p",
        { class: "label kept" },
        "kept tensors: ",
        shown.tensors.map((name) => [keptFile(name), " "]),
      ),
    decisive(verdict, shown),
    shown.heat?.differing?.length > 0 && heat(shown.heat),
    shown.ulp_histogram && histogram(shown.ulp_histogram),
    shown.first &&
      h(
        "div",
        {},
        h("p", { class: "label" }, "the first that differ"),
        shown.first.map((first) =>
          h(
            "div",
            { class: "first" },
            h(
              "p",
              { class: "label" },
              `[${first.index?.join(", ") ?? ""}] ${first.inputs?.join(", ") ?? ""}`,
            ),
            pair(verdict.path, tidy(first.eager ?? ""), tidy(first.compiled ?? "")),
          ),
        ),
      ),
    shown.accuracy?.length > 0 && accuracy(verdict, shown.accuracy, shown.gold),
    shown.error_curve?.from?.length > 1 && errorCurve(verdict, shown.error_curve),
  );
}
