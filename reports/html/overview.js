// The pane on the right where no verdict is chosen: the story of the run, and the help.

/** A fingerprint that shows its verdicts when it is pressed. */
const fingerprintButton = (name) =>
  h(
    "button",
    {
      type: "button",
      class: "chip",
      title: "its verdicts",
      onclick: () => narrow(`fingerprint:${name}`),
    },
    name,
  );

/** What went wrong, by its name: what fails most first, each with its smallest example, which
 *  `open` takes by its id. */
function fingerprintsSection(open) {
  if (run.fingerprints.length === 0) return null;
  const countsOf = new Map(
    run.fingerprints.map((fingerprint, place) => [fingerprint, run.fingerprint_counts[place]]),
  );
  const byKind = (fingerprint) => countsOf.get(fingerprint).kinds[Number(strictly)];
  const count = (fingerprint) => byKind(fingerprint).failing ?? 0;
  const few = (names, most = 6) =>
    names.slice(0, most).join(", ") +
    (names.length > most ? ` and ${grouped(names.length - most)} more` : "");
  const ordered = [...run.fingerprints].sort(
    (a, b) => count(b) - count(a) || b.verdicts - a.verdicts,
  );
  const shown = 100;
  const item = (fingerprint) =>
    h(
      "li",
      {},
      h(
        "p",
        {},
        fingerprintButton(fingerprint.name),
        kinds
          .filter((kind) => byKind(fingerprint)[kind.name])
          .map((kind) =>
            h(
              "span",
              { class: `ink-${kind.name}` },
              `${grouped(byKind(fingerprint)[kind.name])} ${kind.name}`,
            ),
          ),
      ),
      h(
        "p",
        { class: "label" },
        [
          few(countsOf.get(fingerprint).operators.map((name) => name.replace(/^aten::/, ""))),
          fingerprint.dtypes.join(", "),
          fingerprint.alone < fingerprint.failing && `a fix mends ${grouped(fingerprint.alone)}`,
          fingerprint.paths.join(", ") +
            (fingerprint.begins.length ? `, begins on ${fingerprint.begins.join(", ")}` : ""),
          fingerprint.grade && `grade ${fingerprint.grade}`,
        ]
          .filter(Boolean)
          .join(" · "),
      ),
      h(
        "button",
        {
          type: "button",
          class: "text",
          onclick: () => open(fingerprint.example),
        },
        fingerprint.example,
      ),
    );
  return section(
    `Fingerprints: ${grouped(run.fingerprints.length)}`,
    h("ol", { class: "fingerprints" }, ordered.slice(0, shown).map(item)),
    ordered.length > shown &&
      h("p", { class: "label" }, `and ${grouped(ordered.length - shown)} more, which run.json has`),
  );
}

/** Counts by kind for each path. */
function pathTable() {
  const used = kinds.filter((kind) => totals.kind.has(kind.name));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verdicts by path" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "path"),
          h("th", { scope: "col" }, "contract"),
          used.map((kind) => h("th", { scope: "col", class: "number" }, kind.name)),
        ),
      ),
      h(
        "tbody",
        {},
        [...pathOrder.keys()].map((name) => {
          const path = run.run.paths.find((candidate) => candidate.name === name);
          return h(
            "tr",
            {},
            h("th", { scope: "row", title: path?.title }, name),
            h("td", {}, path?.contract ?? ""),
            used.map((kind) => {
              const count = totals.path.get(name)?.get(kind.name);
              return h(
                "td",
                { class: `number ${count ? `ink-${kind.name}` : "none"}` },
                count ? grouped(count) : "–",
              );
            }),
          );
        }),
      ),
    ),
  );
}

/** Which overloads of the torch at hand were executed and judged, closed at first; nothing where
 *  nobody counted. */
function coverageSection() {
  const counts = run.end?.coverage ?? [];
  if (counts.length === 0) return null;
  const share = ({ judged, all }) =>
    `${grouped(judged)} of ${grouped(all)}${all > 0 ? ` (${percent(judged, all)})` : ""}`;
  const sets = [...new Set(counts.map((count) => count.of))];
  const places = [...new Set(counts.map((count) => count.path))];
  const one = (set, path) => counts.find((count) => count.of === set && count.path === path);
  return h(
    "details",
    { class: "part coverage" },
    h(
      "summary",
      {},
      h("h3", {}, `Coverage: ${share(one(sets[0], undefined))} ${sets[0]} overloads`),
    ),
    h(
      "p",
      { class: "label" },
      "Overloads that eager said it called, in verdicts that compared with it what the path’s own code computed. core: those that torch tags so; functional: those that a case can call on a CPU.",
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Coverage" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "path"),
            sets.map((set) => h("th", { scope: "col", class: "number" }, set)),
          ),
        ),
        h(
          "tbody",
          {},
          places.map((path) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, tidy(path ?? "any path")),
              sets.map((set) =>
                h("td", { class: "number" }, one(set, path) ? share(one(set, path)) : "–"),
              ),
            ),
          ),
        ),
      ),
    ),
    sets.map((set) => {
      const gaps = one(set, undefined).gaps ?? [];
      return (
        gaps.length > 0 && [
          h("p", { class: "label" }, `${set}, not judged:`),
          h(
            "ul",
            { class: "links" },
            gaps.map((gap) =>
              h(
                "li",
                {},
                `${grouped(gap.count)}: ${tidy(gap.why)} `,
                h(
                  "code",
                  {},
                  tidy((gap.names ?? []).map((name) => name.replace(/^aten::/, "")).join(", ")),
                ),
              ),
            ),
          ),
        ]
      );
    }),
  );
}

function runDetails(open) {
  const info = run.run;
  const unmatched = run.run.shard ? [] : (run.end?.unmatched ?? []); // other shards may have met them
  return [
    h(
      "header",
      { class: "headline" },
      h("h2", {}, "The run"),
      h("p", { class: "id" }, `lockstep ${info.arguments.join(" ")}`),
    ),
    fingerprintsSection(open),
    facts([
      ["started", info.started.replace("T", " ").replace("Z", " UTC")],
      ["took", run.end ? seconds(run.end.seconds) : "unknown: the log has no end"],
      ["level", info.level],
      ["devices", info.devices.join(", ")],
      ["at a time", info.jobs],
      ["Lockstep", info.version],
      ["judged", `${grouped(run.judged.judged)} of ${grouped(run.judged.could)} that could be`],
      ...info.absent_paths.map((path) => [path.name, `${path.reason}; not run`]),
      ...info.paths.flatMap((path) =>
        (path.declared?.tolerances ?? []).map((rule) => [
          `${path.name} declares`,
          `${rule.operators.join(", ")} of ${rule.dtypes.join(", ")} within rtol ${rule.rtol}, atol ${rule.atol}: ${rule.reason}`,
        ]),
      ),
      ...Object.entries(info.digests).map(([name, digest]) => [name, h("code", {}, digest)]),
      ["plan", h("code", {}, info.plan)],
    ]),
    section("By path", pathTable()),
    accuracySection(),
    coverageSection(),
    section(
      "Where the time went",
      phases(run.phases),
      h(
        "ol",
        { class: "slowest" },
        run.slowest.map((verdict) =>
          h(
            "li",
            {},
            h("b", {}, seconds(verdict.seconds)),
            h(
              "button",
              { type: "button", class: "text", onclick: () => open(verdict.id) },
              verdict.id,
            ),
          ),
        ),
      ),
    ),
    unmatched.length > 0 &&
      section(
        "Expectations that met nothing",
        h(
          "ul",
          { class: "links" },
          unmatched.map((rule) => h("li", {}, h("code", {}, rule.where), " ", rule.text)),
        ),
      ),
    section(
      "Environment",
      Object.entries(run.environment).map(([worker, values]) =>
        h(
          "div",
          { class: "worker" },
          h("h4", {}, worker),
          typeof values === "object" && values !== null
            ? facts(
                Object.entries(values).map(([key, value]) => [
                  key,
                  typeof value === "object" ? JSON.stringify(value) : String(value),
                ]),
              )
            : h("p", {}, String(values)),
        ),
      ),
    ),
    section(
      "What the signs mean",
      h(
        "dl",
        { class: "meanings" },
        run.statuses
          .filter((status) => totals.status.has(status.name))
          .map((status) => h("div", {}, h("dt", {}, status.label), h("dd", {}, status.meaning))),
      ),
    ),
  ];
}

const helpText = () => [
  h("h2", { id: "keys-title" }, "Keyboard and filter"),
  h(
    "dl",
    { class: "help" },
    [
      ["/", "filter"],
      ["j k ↑ ↓", "move; Home, End, Page Up, Page Down too"],
      ["← →", "move between paths in the matrix"],
      ["Enter", "read the details"],
      ["Esc", "back to the list, then to the run"],
      ["m", "list, matrix or operators"],
      ["c", "copy the command that repeats the verdict"],
    ].map(([keysText, meaning]) =>
      h("div", {}, h("dt", {}, h("kbd", {}, keysText)), h("dd", {}, meaning)),
    ),
  ),
  h(
    "p",
    {},
    "The filter speaks the language of the command line. Terms of one kind are alternatives, terms of different kinds must all hold, ! excludes, * and ? stand for anything. Ids are meant whole. and, or, not and parentheses join terms.",
  ),
  h(
    "dl",
    { class: "help" },
    [
      ["softmax bfloat16", "words in the id, title or reason"],
      ["ops/*  bugs/185337*", "ids"],
      [
        `is:${kinds.map((kind) => kind.name).join(" is:")}`,
        `what it does to the run; also is:${run.marks.map((mark) => mark.name).join(", is:")}`,
      ],
      ["status:crash status:timeout", "what the judge says"],
      ["fingerprint:softshrink:*", "what went wrong, by its name"],
      [
        "path:inductor device:cuda* grade:none stage:compile nearer:eager because:bug",
        "the rest of a verdict",
      ],
      [
        "tag:precision-cast op:add dtype:float16",
        "of the case: its tags, its operators, the dtypes of its inputs",
      ],
      ["reason:NaN", "a part of the reason"],
      ["!is:known", "all but these"],
      ["status:failing and (op:add or not path:inductor)", "terms that are joined"],
    ].map(([example, meaning]) =>
      h("div", {}, h("dt", {}, h("code", {}, example)), h("dd", {}, meaning)),
    ),
  ),
  h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")),
];
