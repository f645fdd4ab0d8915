// The pane on the right: the story of one verdict.

/** The scale of grades with the step that was reached. */
function grading(grade) {
  if (!grade) return null;
  const reached = grades.indexOf(grade);
  return h(
    "span",
    {
      class: "grading",
      role: "img",
      "aria-label": `grade ${grade}, step ${reached + 1} of ${grades.length}`,
      title: grades.join(" › "),
    },
    grades.slice(0, -1).map((_, step) => h("i", { class: step >= reached ? "on" : "" })),
    h("b", {}, grade),
  );
}

function raised(side, error) {
  return h(
    "article",
    { class: "error" },
    h(
      "header",
      {},
      h("h4", {}, side),
      error
        ? h(
            "span",
            { class: "type" },
            error.class ?? "",
            error.stage ? ` · stage ${error.stage}` : "",
          )
        : h("span", { class: "type" }, "no error"),
    ),
    error?.wrapped?.length > 0 &&
      h("p", { class: "label" }, `wrapped in ${error.wrapped.join(", ")}`),
    error?.message && output(error.message),
  );
}

/** Seconds by phase as a bar and a list. */
function phases(values) {
  const entries = Object.entries(values ?? {}).sort((a, b) => b[1] - a[1]);
  const total = entries.reduce((sum, [, value]) => sum + value, 0);
  if (!(total > 0)) return null;
  const bar = h("div", { class: "phases", "aria-hidden": "true" });
  entries.forEach(([, value], place) => {
    const piece = h("span", { class: `tone-${place % 6}` });
    piece.style.flexGrow = value / total;
    bar.append(piece);
  });
  return [
    bar,
    h(
      "ul",
      { class: "legend" },
      entries.map(([name, value], place) =>
        h(
          "li",
          {},
          h("i", { class: `tone-${place % 6}`, "aria-hidden": "true" }),
          name,
          " ",
          h("b", {}, seconds(value)),
        ),
      ),
    ),
  ];
}

const sentences = {
  eager: "Eager is nearer to the gold.",
  compiled: "The compiled result is nearer to the gold.",
  both: "Eager and the compiled result are equally near to the gold.",
  "ill-conditioned": "Ill-conditioned: a rounding of the inputs moves the result more than that.",
};

function expectation(verdict) {
  const rule = verdict.expectation;
  if (!rule) return null;
  const met =
    verdict.standing === "fixed"
      ? `${statuses.get(rule.status)?.label ?? rule.status} was expected and no longer happens: remove ${rule.file}`
      : `${statuses.get(rule.status)?.label ?? rule.status} is expected (${rule.because})`;
  return h(
    "aside",
    { class: `callout kind-${verdict.kind}`, "aria-label": "Expectation" },
    h("p", {}, h("b", {}, met)),
    h("p", {}, rule.reason),
    h(
      "p",
      { class: "label" },
      verdict.standing === "fixed" ? "" : rule.file,
      " ",
      rule.link ? link(rule.link) : "",
    ),
  );
}

/** The same instance on the other paths. */
function siblings(verdict, open) {
  const others = [...onEveryPath(verdict.instance)].sort(
    (a, b) => pathOrder.get(a.path) - pathOrder.get(b.path),
  );
  if (others.length < 2) return null;
  return section(
    "On every path",
    h(
      "ul",
      { class: "siblings" },
      others.map((other) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              "aria-current": other.place === verdict.place ? "true" : null,
              onclick: () => open(other),
            },
            h("span", {}, other.path),
            divergenceOf(other).first && h("span", { class: "tag" }, "diverges first"),
            badge(other),
          ),
        ),
      ),
    ),
  );
}

function proof(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return section("Proof of compilation", h("p", {}, String(value)));
  return section(
    "Proof of compilation",
    facts(
      Object.entries(value).map(([key, item]) => [
        key,
        typeof item === "object" ? JSON.stringify(item) : String(item),
      ]),
    ),
  );
}

/** Who executed it, and what else there is to know before it is believed: rows in plain words. */
function execution(verdict) {
  const { backend, changed, control, permitted } = verdict.proof ?? {};
  const percent = (part) => `${Math.round(100 * part)} %`;
  const named = (operators) => Object.keys(operators ?? {}).join(", ");
  const most = verdict.permitted_fraction && verdict.marks.includes("unjudged");
  const rows = [
    [
      "seen",
      { observed: "Lockstep observed who executed it", stated: "the path states who executed it" }[
        verdict.execution
      ],
    ],
    ["not judged", verdict.unsaid && `nobody can see who executed it: ${verdict.unsaid}`],
    [
      "by others",
      verdict.foreign_fraction &&
        `${percent(verdict.foreign_fraction)}: ${named(verdict.proof?.foreign)}`,
    ],
    [
      "by operators of may_call",
      verdict.permitted_fraction &&
        `${percent(verdict.permitted_fraction)}: ${named(permitted)}${most ? ", so it is not judged" : ""}`,
    ],
    [
      "backend",
      verdict.never_asked
        ? "it was given nothing to compile"
        : backend &&
          `it was given ${grouped(backend.called)} graph${backend.called === 1 ? "" : "s"}${backend.raised ? `, and raised over ${grouped(backend.raised)}` : ""}`,
    ],
    ["inputs", verdict.inputs_known && "their values were known when it was compiled"],
    [
      "drawn inputs",
      verdict.draws &&
        `executed on ${grouped(verdict.draws)} draw${verdict.draws === 1 ? "" : "s"} of inputs that nobody had seen`,
    ],
    ["another backend", control && `Dynamo raises ${control} for one that compiles nothing, too`],
    [
      "Lockstep's code",
      changed?.length > 0 && `something else was put in the place of ${changed.join(", ")}`,
    ],
  ].filter(([, value]) => value);
  return rows.length > 0 && section("Who executed it", facts(rows));
}

// "conform 2×, crash 1×"
function times(executions) {
  return Object.entries(executions)
    .map(([status, count]) => `${statuses.get(status)?.label ?? status} ${count}×`)
    .join(", ");
}

/** A paragraph for each sentence. */
function lines(before, sentences) {
  return (sentences ?? []).map((sentence) => h("p", {}, before, sentence));
}

/** Who did it, where the run was told to explain: the sentence, what it rests on, and what nobody
 *  looked into. */
function explanation(found) {
  if (!found) return null;
  const guilty = new Set(found.guilty ?? []);
  const word = { yes: "as eager makes it", no: "not as eager makes it" };
  const ending = (found.knobs ?? []).filter((knob) => knob.ends);
  const tried = (found.knobs ?? []).filter((knob) => knob.status).length;
  const cells = [
    ["step", (step) => step.text],
    ["value", (step) => [step.value, word[step.explained]].filter(Boolean).join(", ")],
    ["adds", (step) => step.adds && `${Number((100 * step.adds).toPrecision(3))} %`],
    ["alone", (step) => step.alone && (statuses.get(step.alone)?.label ?? step.alone)],
    ["at", (step) => step.at?.join(", ")],
    ["eager", (step) => step.eager],
    ["compiled", (step) => step.compiled],
    ["fp64 gold", (step) => step.fp64],
    ["eager-faithful gold", (step) => step.stepwise],
    ["source", (step) => step.source],
  ].filter(([, of]) => (found.steps ?? []).some((step) => of(step)));
  return section(
    "Who did it",
    h("p", { class: "reason" }, found.sentence),
    found.ladder?.length > 0 &&
      h(
        "p",
        {},
        "Layer: ",
        found.layer ? h("b", {}, found.layer_title || found.layer) : "none differs",
        ". ",
        found.ladder
          .map(
            (layer) =>
              `${layer.path} ${statuses.get(layer.status)?.label ?? layer.status ?? "not judged"}`,
          )
          .join(", "),
        ".",
      ),
    found.cast && h("p", {}, found.cast),
    lines("", found.borne_out),
    lines("Takes ", found.conditions),
    lines("Besides: ", found.besides),
    found.curve?.length > 1 && stepsCurve(found),
    cells.length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" },
        h(
          "table",
          { class: "steps" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              cells.map(([name]) => h("th", {}, name)),
            ),
          ),
          h(
            "tbody",
            {},
            found.steps.map((step, place) =>
              h(
                "tr",
                { class: guilty.has(place) ? "guilty" : "" },
                cells.map(([, of], column) =>
                  h(
                    "td",
                    {},
                    column === 0 && guilty.has(place) ? h("b", {}, of(step)) : (of(step) ?? ""),
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    h(
      "p",
      {},
      ending.length > 0
        ? `Ends with ${ending.map((knob) => (knob.title ? `${knob.name} (${knob.title})` : knob.name)).join(" or ")}.`
        : tried > 0
          ? `None of ${tried} settings ends it.`
          : "",
    ),
    found.pass?.subsystem &&
      h(
        "p",
        {},
        `Pass: ${[found.pass.backend, found.pass.subsystem, found.pass.what].filter(Boolean).join(", ")}.`,
      ),
    found.open?.length > 0 &&
      h("p", { class: "label" }, `Nobody looked into: ${found.open.join("; ")}.`),
  );
}

/** Who keeps a relation of an output: "batch of y: the path breaks 2 of 13". */
function relationText({ kind, output, asked, eager = 0, path = 0, undecided, first }) {
  const broken = [
    eager > 0 && `eager breaks ${eager} of ${asked}`,
    path > 0 && `the path breaks ${path} of ${asked}`,
  ].filter(Boolean);
  const doubt = undecided ? " (no gold says whether the program keeps it)" : "";
  const example = first ? ` (${first})` : "";
  return `${kind} of ${output}: ${broken.join(", ") || "kept"}${example}${doubt}`;
}

function verdictDetails(verdict, open) {
  const path = run.run.paths.find((candidate) => candidate.name === verdict.path);
  const { begins } = divergenceOf(verdict);
  const issues = [
    ...new Set([verdict.expectation?.link, ...(verdict.links ?? [])].filter(Boolean)),
  ];
  const failed = (verdict.outputs ?? []).filter((item) => item.status !== "conform");
  const fine = (verdict.outputs ?? []).filter((item) => item.status === "conform");
  return [
    h(
      "header",
      { class: "headline" },
      h(
        "p",
        { class: "badges" },
        badge(verdict),
        verdict.standing !== "new" &&
          h("span", { class: `standing kind-${verdict.kind}` }, verdict.standing),
        verdict.unstable &&
          h(
            "span",
            { class: "standing" },
            "unstable",
            verdict.executions && `: ${times(verdict.executions)}`,
          ),
        verdict.reused &&
          h(
            "span",
            { class: "standing", title: "made by an earlier run: --reuse found nothing changed" },
            `of ${verdict.reused}`,
          ),
        verdict.vacuous &&
          verdict.status === "conform" &&
          h("span", { class: "standing" }, "vacuous"),
        verdict.weak && h("span", { class: "standing" }, "weak"),
      ),
      h("h2", {}, verdict.title || verdict.instance),
      h(
        "p",
        { class: "id" },
        idParts(verdict.instance),
        h("span", { class: "path" }, `/${verdict.path}`),
      ),
      issues.length > 0 && h("p", { class: "label issues" }, issues.map(link)),
    ),
    h("p", { class: "reason" }, verdict.reason || statuses.get(verdict.status).meaning),
    verdict.relations &&
      h(
        "details",
        { open: verdict.status === "relation_breaks" },
        h("summary", {}, "What results keep, whatever eager says"),
        h(
          "ul",
          {},
          verdict.relations.map((each) => h("li", {}, relationText(each))),
        ),
      ),
    verdict.growth?.map(growthCurve),
    verdict.fingerprints &&
      h(
        "p",
        { class: "names" },
        verdict.fingerprints.length === 1 ? "Fingerprint " : "Fingerprints ",
        verdict.fingerprints.map(fingerprintButton),
      ),
    begins &&
      begins !== verdict.path &&
      h("p", { class: "reason" }, `Diverges already on ${begins}, a layer below this one.`),
    verdict.tolerated && h("p", { class: "reason" }, `Tolerated: ${toleratedText(verdict)}.`),
    verdict.weak && h("p", { class: "reason" }, `Weak: ${verdict.weak}.`),
    verdict.warnings?.lost?.map((each) =>
      h("p", { class: "reason" }, `Eager alone warns: ${each}`),
    ),
    verdict.warnings?.added?.map((each) =>
      h("p", { class: "reason" }, `The compiled program alone warns: ${each}`),
    ),
    verdict.marks.includes("partly") &&
      h(
        "p",
        { class: "reason" },
        `Others than the path's own code executed ${Math.round(100 * verdict.foreign_fraction)} % of it: ${Object.keys(verdict.proof?.foreign ?? {}).join(", ")}.`,
      ),
    verdict.marks.includes("stated") &&
      h("p", { class: "reason" }, "Who executed it is stated, not observed."),
    verdict.reference && h("p", { class: "reason" }, `Eager is that ${verdict.reference}.`),
    verdict.front_end &&
      h(
        "p",
        { class: "reason" },
        "It is raised while the program is traced; no backend was reached.",
      ),
    verdict.nearer && h("p", { class: "reason" }, sentences[verdict.nearer] ?? verdict.nearer),
    verdict.shared &&
      h(
        "p",
        { class: "label" },
        `compiled with ${grouped(verdict.shared)} other${verdict.shared === 1 ? "" : "s"}`,
      ),
    expectation(verdict),
    verdict.repro && command(verdict.repro),
    h(
      "div",
      { class: "copies", role: "group", "aria-label": "Copy" },
      copyButton("Copy reproducer command", reproducer(verdict), "plain"),
      copyButton("Copy text for a report", publicReport(verdict), "plain"),
      copyButton("Copy id", tidy(verdict.id), "plain"),
    ),
    explanation(verdict.explanation),
    failed.length > 0 &&
      section(
        "What differs",
        failed.map((item) => numbers(verdict, item)),
      ),
    (verdict.eager_error || verdict.compiled_error) &&
      section(
        "Errors",
        h(
          "div",
          { class: "errors" },
          raised("eager", verdict.eager_error),
          raised(verdict.path, verdict.compiled_error),
        ),
      ),
    verdict.stderr_tail && section("Standard error, its end", output(verdict.stderr_tail)),
    siblings(verdict, open),
    verdict.program &&
      section(
        "The case",
        output(verdict.program),
        facts([
          ["operators", verdict.operators?.join(", ")],
          ["dtypes of the inputs", verdict.dtypes?.join(", ")],
          ["tags", verdict.tags?.join(", ")],
        ]),
      ),
    fine.length > 0 &&
      section(
        "What agrees",
        fine.map((item) => numbers(verdict, item)),
      ),
    section(
      "Execution",
      facts([
        ["path", path?.title ? `${verdict.path}: ${path.title}` : verdict.path],
        ["contract", path?.contract],
        ["device", verdict.device],
        ["grade", verdict.grade],
        ["last stage", verdict.stage],
        ["wall clock", seconds(verdict.seconds ?? 0)],
        [
          "peak memory",
          verdict.peak_memory_bytes
            ? `${grouped(Math.round(verdict.peak_memory_bytes / 1048576))} MiB`
            : "",
        ],
        ["case", verdict.case_file ? `${verdict.case_file}:${verdict.case_line ?? 1}` : ""],
      ]),
      phases(verdict.phases),
    ),
    execution(verdict),
    proof(verdict.proof),
    verdict.links?.length > 0 &&
      section(
        "Links",
        h(
          "ul",
          { class: "links" },
          verdict.links.map((url) => h("li", {}, link(url))),
        ),
      ),
  ];
}
