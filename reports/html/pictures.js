// Pictures: where and how far an output diverges, along its input, and after each step.  Each says
// in words what it shows, and its parts say theirs when they are pointed at.

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

/** How wide a drawing is made, so that its letters are as large on a phone as elsewhere. */
const drawnWidth = () => Math.min(560, Math.max(260, window.innerWidth - 72));

/** How strong the colour of a difference is: by its exponent between those of the least and the greatest. */
function shadeOf(sizes) {
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map(Math.log2);
  return (size) =>
    !(size > 0) ? 0.2 : most > least ? 0.2 + (0.8 * (Math.log2(size) - least)) / (most - least) : 1;
}

/** Where the differences lie: a cell is the stronger, the greater its greatest difference is. */
function heat({ rows, columns, differing, greatest = [] }) {
  const sizes = greatest.map(Number).filter((size) => Number.isFinite(size) && size > 0);
  const shade = shadeOf(sizes);
  const endless = (place) => differing[place] > 0 && !Number.isFinite(Number(greatest[place]));
  const where = (place) => `row ${Math.floor(place / columns)}, column ${place % columns}`;
  const cells = differing.map((count, place) => {
    const size = endless(place)
      ? ", NaN or infinity among them"
      : count
        ? `, greatest |Δ| ${short(greatest[place])}`
        : "";
    const cell = h("i", { title: `${where(place)}: ${grouped(count)} differ${size}` });
    if (endless(place)) {
      cell.className = "nonfinite";
      cell.append("∞");
    } else if (count) cell.style.opacity = shade(Number(greatest[place])).toFixed(2);
    else cell.className = "none";
    return cell;
  });
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const worst = sizes.length
    ? `, the greatest |Δ| ${short(most)} in ${where(greatest.indexOf(most))}`
    : "";
  const broken = differing.filter((_, place) => endless(place)).length;
  const grid = h(
    "div",
    {
      class: "heat",
      role: "img",
      "aria-label": `${differing.filter((count) => count > 0).length} of ${differing.length} cells have differences${worst}${broken ? `, NaN or infinity in ${broken}` : ""}`,
    },
    cells,
  );
  grid.style.gridTemplateColumns = `repeat(${columns}, 14px)`;
  const scale =
    most > least &&
    h("span", { class: "scale" }, short(least), h("i", { "aria-hidden": "true" }), short(most));
  return h(
    "div",
    {},
    h(
      "p",
      { class: "label" },
      `where they lie: the output in ${rows} × ${columns} parts`,
      sizes.length > 0 && ["; the stronger, the greater |Δ|: ", scale || short(most)],
      broken > 0 && "; ∞: NaN or infinity differs",
    ),
    grid,
  );
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

const superscript = (number) =>
  String(number).replace(/[-0-9]/g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

/** An axis of exponents, to both sides of 0: where numbers lie from 0 to 1, and what is written
 *  below it, each with its place. */
function exponentAxis(numbers) {
  const exponents = numbers
    .filter((number) => number !== 0)
    .map((number) => Math.floor(Math.log2(Math.abs(number))));
  const [least, most] = [Math.min(...exponents), Math.max(...exponents)];
  const at = (number) =>
    number === 0 ? 0 : Math.sign(number) * (Math.log2(Math.abs(number)) - least + 1);
  // What the last part reaches is not known: as much as the one before it.
  const [from, to] = [at(numbers[0]), 2 * at(numbers.at(-1)) - at(numbers.at(-2))];
  const place = (number) => (at(number) - from) / (to - from);
  const step = Math.max(1, Math.ceil((most - least) / 4));
  const marks = [{ text: "0", place: place(0) }];
  for (let exponent = most - (most % step); exponent >= least; exponent -= step) {
    const text = exponent === 0 ? "1" : `2${superscript(exponent)}`;
    marks.push(
      { text, place: place(2 ** exponent) },
      { text: `−${text}`, place: place(-(2 ** exponent)) },
    );
  }
  return { place, marks: marks.filter((mark) => mark.place >= 0 && mark.place <= 1) };
}

/** A scale of tens from a hundredth of an ulp; what is wrong about NaN or infinity lies above all.
 *  Where an error lies from 0 to 1, and what is written beside it. */
function errorScale(errors) {
  const numbers = errors.map(Number);
  const finite = numbers.filter(Number.isFinite);
  const endless = finite.length < numbers.length;
  const low = -2;
  const high = Math.max(1, Math.ceil(Math.log10(Math.max(1, ...finite)))) + (endless ? 1 : 0);
  const place = (error) =>
    ((Number.isFinite(Number(error)) ? Math.log10(Math.max(Number(error), 10 ** low)) : high) -
      low) /
    (high - low);
  const step = Math.max(1, Math.ceil((high - low) / 6));
  const label = (ten) =>
    ten >= 0 && ten < 5 ? grouped(10 ** ten) : ten < 0 ? String(10 ** ten) : `1e${ten}`;
  const marks = [];
  for (let ten = low; ten <= (endless ? high - 1 : high); ten += step)
    marks.push({ text: label(ten), place: place(10 ** ten) });
  if (endless) marks.push({ text: "∞", place: 1, endless });
  return { place, marks };
}

/** The frame of a drawing: the scale at its left, what stands below it, and the lines between. */
function frame({ width, height, left, bottom, top }, scale, below) {
  const y = (place) => top + (height - bottom - top) * (1 - place);
  const x = (place) => left + (width - left - 8) * place;
  const taken = [];
  const free = (place) => {
    const room = taken.every((other) => Math.abs(x(place) - other) > 38);
    if (room) taken.push(x(place));
    return room;
  };
  const anchor = (place) =>
    x(place) < left + 14 ? "start" : x(place) > width - 22 ? "end" : "middle";
  const drawn = [
    scale.map(({ text, place, endless }) => [
      svg("line", {
        class: endless ? "rule endless" : "rule",
        x1: left,
        x2: width - 8,
        y1: y(place),
        y2: y(place),
      }),
      svg("text", { x: left - 6, y: y(place) + 4, "text-anchor": "end" }, text),
    ]),
    below
      .filter(({ place }) => free(place))
      .map(({ text, place }) =>
        svg("text", { x: x(place), y: height - 6, "text-anchor": anchor(place) }, text),
      ),
  ];
  return { x, y, drawn };
}

/** A drawing with what it shows above it, and in words for who does not see it. */
function curve({ width, height }, caption, words, ...drawn) {
  return h(
    "figure",
    { class: "curve" },
    h("figcaption", { class: "label" }, caption),
    svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, drawn),
  );
}

/** The greatest errors of both sides along an input, on an axis of its exponents. */
function errorCurve(verdict, { input, from, eager = [], compiled }) {
  const parts = from
    .map((value, place) => ({
      from: Number(value),
      errors: [eager[place] ?? "inf", (compiled ?? eager)[place] ?? "inf"],
    }))
    .filter((part, place) => Number.isFinite(part.from) && !(part.from <= Number(from[place - 1])));
  if (parts.length < 2) return null;
  const axis = exponentAxis(parts.map((part) => part.from));
  const scale = errorScale(parts.flatMap((part) => part.errors));
  const size = { width: drawnWidth(), height: 180, left: 52, bottom: 22, top: 8 };
  const { x, y, drawn } = frame(size, scale.marks, axis.marks);
  const begin = (place) => x(axis.place(parts[place].from));
  const end = (place) => (place + 1 < parts.length ? begin(place + 1) : x(1));
  const line = (side) =>
    parts
      .map(
        (part, place) =>
          `${place ? "L" : "M"}${begin(place).toFixed(1)} ${y(scale.place(part.errors[side])).toFixed(1)}H${end(place).toFixed(1)}`,
      )
      .join("");
  const sides = ["eager", verdict.path].map((name, side) => {
    const sizes = parts.map((part) => scale.place(part.errors[side]));
    const worst = parts[sizes.indexOf(Math.max(...sizes))];
    return { name, worst: ulpText(worst.errors[side]), at: short(worst.from) };
  });
  return curve(
    size,
    [
      `greatest error in ulp against the fp64 gold, along the exponents of ${input}: `,
      sides.map(({ name, worst }, side) =>
        h(
          "span",
          { class: `side-${side}` },
          h("i", { "aria-hidden": "true" }),
          `${name} (at most ${worst})`,
          side ? "" : " ",
        ),
      ),
      compiled ? "" : ", the same everywhere",
    ],
    `greatest error along ${tidy(input)}, from ${short(parts[0].from)} to ${short(parts.at(-1).from)}: ${sides.map(({ name, worst, at }) => `${tidy(name)} at most ${worst} ulp, first from ${at} on`).join("; ")}`,
    drawn,
    svg("path", { class: "side-1", d: line(1) }),
    svg("path", { class: "side-0", d: line(0) }),
    parts.map((part, place) =>
      svg(
        "rect",
        {
          class: "probe",
          x: begin(place).toFixed(1),
          y: 0,
          width: Math.max(0, end(place) - begin(place)).toFixed(1),
          height: size.height - size.bottom,
        },
        svg(
          "title",
          {},
          `from ${short(part.from)}: eager ${ulpText(part.errors[0])}, ${verdict.path} ${ulpText(part.errors[1])}`,
        ),
      ),
    ),
  );
}

/** How much of a divergence there is after each step of the program, from 0 to 1. */
function stepsCurve({ curve: after, steps, guilty }) {
  const shares = after.map((share) => Math.min(Math.max(Number(share) || 0, 0), 1));
  const said = (place) => `${place + 1}: ${Number((100 * shares[place]).toPrecision(3))} %`;
  const at = (place) => (place + 0.5) / shares.length;
  const size = { width: drawnWidth(), height: 130, left: 52, bottom: 22, top: 10 };
  const { x, y, drawn } = frame(
    size,
    [0, 0.5, 1].map((place) => ({ text: `${100 * place} %`, place })),
    shares.map((_, place) => ({ text: `${place + 1}`, place: at(place) })),
  );
  const line = shares.map((share, place) => `${x(at(place)).toFixed(1)} ${y(share).toFixed(1)}`);
  return curve(
    size,
    ["How much of it there is after each step; what is guilty has a ring"],
    `how much of it there is after each step: ${shares.map((_, place) => said(place)).join(", ")}`,
    drawn,
    svg("path", { class: "side-1", d: `M${line.join("L")}` }),
    shares.map((share, place) =>
      svg(
        "circle",
        {
          class: guilty?.includes(place) ? "step guilty" : "step",
          cx: x(at(place)).toFixed(1),
          cy: y(share).toFixed(1),
          r: guilty?.includes(place) ? 5 : 3,
        },
        svg("title", {}, `${said(place)}${steps?.[place]?.text ? ` ${steps[place].text}` : ""}`),
      ),
    ),
  );
}

/** How errors grow from call to call: running free, and each call from eager's state. */
function growthCurve({ output, free, restarted }) {
  const sizes = [...free, ...restarted].map(Number).filter((each) => each > 0);
  const finite = sizes.filter(Number.isFinite).map(Math.log10);
  const endless = finite.length < sizes.length;
  const low = Math.floor(Math.min(0, ...finite)) - 1;
  const high = Math.ceil(Math.max(low + 2, ...finite)) + (endless ? 1 : 0);
  const tens = (each) => (Number.isFinite(Number(each)) ? Math.log10(Number(each)) : high);
  const place = (each) =>
    Number(each) > 0 || each === "inf" ? (tens(each) - low) / (high - low) : 0;
  const step = Math.max(1, Math.ceil((high - low) / 5));
  const marks = [{ text: "0", place: 0 }];
  for (let ten = low + step; ten < high; ten += step)
    marks.push({ text: `1e${ten}`, place: (ten - low) / (high - low) });
  if (endless) marks.push({ text: "∞", place: 1, endless });
  const calls = Math.max(free.length, restarted.length);
  const at = (call) => (call + 0.5) / calls;
  const size = { width: drawnWidth(), height: 150, left: 52, bottom: 22, top: 10 };
  const below = Array.from({ length: calls }, (_, call) => ({
    text: `${call + 1}`,
    place: at(call),
  }));
  const { x, y, drawn } = frame(size, marks, below);
  const sides = [
    { name: "each call from eager's state", sizes: restarted },
    { name: "running free", sizes: free },
  ];
  const said = (each) => each.map((one) => (Number(one) === 0 ? "0" : short(one))).join(", ");
  return curve(
    size,
    [
      `greatest |Δ| of ${output}, call by call: `,
      sides.map(({ name }, side) =>
        h("span", { class: `side-${side}` }, h("i", { "aria-hidden": "true" }), `${name} `),
      ),
    ],
    `greatest difference of ${tidy(output)}, call by call: ${sides.map((each) => `${each.name} ${said(each.sizes)}`).join("; ")}`,
    drawn,
    sides.map(({ name, sizes }, side) => [
      svg("path", {
        class: `side-${side}`,
        d: `M${sizes.map((each, call) => `${x(at(call)).toFixed(1)} ${y(place(each)).toFixed(1)}`).join("L")}`,
      }),
      sizes.map((each, call) =>
        svg(
          "circle",
          { class: "step", cx: x(at(call)).toFixed(1), cy: y(place(each)).toFixed(1), r: 2 },
          svg("title", {}, `call ${call + 1}, ${name}: ${short(each)}`),
        ),
      ),
    ]),
  );
}

/** A file that a run kept, as a link where the page knows where it is. Whoever read the log has
 *  refused what is not below `tensors/`. */
function keptFile(name) {
  const parts = name.split("/");
  const text = tidy(parts.at(-1));
  if (run.files === null) return h("span", { title: tidy(name) }, text);
  const address = [...run.files.split("/"), ...parts].map(encodeURIComponent).join("/");
  return h("a", { href: address, title: tidy(name) }, text);
}
