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

/** Where the differences lie: a cell is the darker, the more of its elements differ. */
function heat(map) {
  const most = Math.max(...map.differing);
  const grid = h(
    "div",
    {
      class: "heat",
      role: "img",
      "aria-label": `${map.differing.filter((count) => count > 0).length} of ${map.differing.length} cells have differences`,
    },
    map.differing.map((count, place) => {
      const nonfinite = count > 0 && map.greatest[place] === "inf";
      const cell = h("i", {
        class: nonfinite ? "nonfinite" : null,
        title:
          `row ${Math.floor(place / map.columns)}, column ${place % map.columns}: ${grouped(count)} differ` +
          (nonfinite
            ? ", NaN or infinity among them"
            : count
              ? `, greatest |Δ| ${short(map.greatest[place])}`
              : ""),
      });
      if (nonfinite) cell.append("∞");
      else if (count) cell.style.opacity = 0.25 + (0.75 * count) / most;
      else cell.className = "none";
      return cell;
    }),
  );
  grid.style.gridTemplateColumns = `repeat(${map.columns}, 14px)`;
  return h(
    "div",
    {},
    h(
      "p",
      { class: "label" },
      `where they lie: the output in ${map.rows} × ${map.columns} parts${map.greatest.includes("inf") ? "; ∞: NaN or infinity differs" : ""}`,
    ),
    grid,
  );
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

/** An element of a drawing. */
function svg(tag, properties, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  element.append(
    ...children
      .flat(Infinity)
      .map((child) => (child instanceof Node ? child : document.createTextNode(tidy(child)))),
  );
  return element;
}

/** How far apart what differs is: a column for 1, 2, 3 to 4, 5 to 8, … ulp. */
function histogram(counts) {
  const most = Math.max(...counts);
  const range = (place) =>
    place < 2 ? grouped(place + 1) : `${grouped(2 ** (place - 1) + 1)} to ${grouped(2 ** place)}`;
  const begin = counts.findIndex((count) => count > 0);
  if (begin === counts.length - 1) return null; // the greatest distance is told already
  const columns = counts.slice(begin).map((count, place) => {
    const column = h("i", { title: `${range(begin + place)} ulp: ${grouped(count)}` }, h("b", {}));
    column.firstChild.style.height = `${count > 0 ? Math.max(4, (100 * count) / most) : 0}%`;
    return column;
  });
  const figure = h(
    "figure",
    { class: "histogram" },
    h(
      "figcaption",
      { class: "label" },
      `how many elements are how far apart; the highest column has ${grouped(most)}`,
    ),
    h(
      "div",
      {
        role: "img",
        "aria-label": counts
          .map((count, place) => count > 0 && `${range(place)} ulp: ${grouped(count)}`)
          .filter(Boolean)
          .join("; "),
      },
      columns,
    ),
    h(
      "p",
      { class: "label ends" },
      h("span", {}, `${range(begin)} ulp`),
      h("span", {}, `${range(counts.length - 1)} ulp`),
    ),
  );
  figure.style.setProperty("--columns", columns.length);
  return figure;
}

/** Errors on a scale of tens from a hundredth of an ulp; what is wrong about NaN or infinity lies
 *  above all. */
function errorCurve(verdict, { input, from, eager, compiled }) {
  const [width, height, left, bottom] = [560, 170, 52, 22];
  const sides = [
    ["eager", eager],
    [verdict.path, compiled ?? eager],
  ];
  const finite = sides
    .flatMap(([, errors]) => errors)
    .map(Number)
    .filter(Number.isFinite);
  const endless = sides.some(([, errors]) =>
    errors.some((error) => !Number.isFinite(Number(error))),
  );
  const low = -2;
  const high = Math.max(1, Math.ceil(Math.log10(Math.max(1, ...finite)))) + (endless ? 1 : 0);
  const top = 8;
  const y = (error) => {
    const tens = Number.isFinite(Number(error))
      ? Math.log10(Math.max(Number(error), 10 ** low))
      : high;
    return top + ((height - bottom - top) * (high - tens)) / (high - low);
  };
  const x = (place) => left + ((width - left - 8) * place) / from.length;
  const line = (errors) =>
    errors
      .map(
        (error, place) =>
          `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(error).toFixed(1)}H${x(place + 1).toFixed(1)}`,
      )
      .join("");
  const step = Math.max(1, Math.ceil((high - low) / 6));
  const tens = Array.from({ length: high - low + 1 }, (_, place) => low + place).filter(
    (ten) => (ten - low) % step === 0 && !(endless && ten > high - 1),
  );
  const label = (ten) =>
    ten >= 0 && ten < 5 ? grouped(10 ** ten) : ten < 0 ? String(10 ** ten) : `1e${ten}`;
  const marks = [0, 0.25, 0.5, 0.75]
    .map((part) => Math.round(part * from.length))
    .filter((place, at, all) => all.indexOf(place) === at);
  const worst = (errors) =>
    ulpText(errors.some((error) => error === "inf") ? "inf" : Math.max(...errors.map(Number)));
  return h(
    "figure",
    { class: "curve" },
    h(
      "figcaption",
      { class: "label" },
      `greatest error in ulp against the fp64 gold, along ${input}: `,
      sides.map(([name, errors], place) =>
        h(
          "span",
          { class: `side-${place}` },
          h("i", { "aria-hidden": "true" }),
          `${name} (at most ${worst(errors)})`,
          place ? "" : " ",
        ),
      ),
      compiled ? "" : ", the same everywhere",
    ),
    svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `greatest error along ${tidy(input)}`,
      },
      tens.map((ten) => [
        svg("line", { class: "rule", x1: left, x2: width - 8, y1: y(10 ** ten), y2: y(10 ** ten) }),
        svg("text", { x: left - 6, y: y(10 ** ten) + 4, "text-anchor": "end" }, label(ten)),
      ]),
      endless
        ? [
            svg("line", {
              class: "rule endless",
              x1: left,
              x2: width - 8,
              y1: y("inf"),
              y2: y("inf"),
            }),
            svg("text", { x: left - 6, y: y("inf") + 4, "text-anchor": "end" }, "∞"),
          ]
        : [],
      marks.map((place) =>
        svg(
          "text",
          { x: x(place), y: height - 6, "text-anchor": place ? "middle" : "start" },
          short(from[place]),
        ),
      ),
      svg("path", { class: "side-1", d: line(compiled ?? eager) }),
      svg("path", { class: "side-0", d: line(eager) }),
      from.map((value, place) =>
        svg(
          "rect",
          { class: "probe", x: x(place), y: 0, width: x(1) - x(0), height: height - bottom },
          svg(
            "title",
            {},
            `from ${short(value)}: eager ${ulpText(eager[place])}, ${verdict.path} ${ulpText((compiled ?? eager)[place])}`,
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
      ["tensors", shown.tensors?.join(", ")],
    ]),
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
