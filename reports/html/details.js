// The pane on the right: the story of one verdict, or of the run.  Every string of the run becomes a
// text node; nothing is ever parsed as HTML.

/** An element: h("p", {class: "x", onclick: f}, "text", node, null, [more]). */
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(tidy(child)))));
  return element;
}

/** Only these are links: a log may hold any string. */
function link(url) {
  if (!/^https?:\/\//i.test(url)) return h("span", {}, url);
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url.replace(/^https?:\/\//i, ""));
}

const badge = (verdict) => h("span", { class: `badge kind-${verdict.kind}` },
  h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)), statuses.get(verdict.status).label);

/** The id in its parts; `short` leaves out a device that all verdicts share. */
function idTexts(instance, short = false) {
  const cut = instance.search(/[[@]/);
  const head = cut < 0 ? instance : instance.slice(0, cut);
  const slash = head.lastIndexOf("/") + 1;
  let matrix = cut < 0 ? "" : instance.slice(cut);
  if (short && oneDevice && matrix.endsWith(`@${oneDevice}`)) matrix = matrix.slice(0, -oneDevice.length - 1);
  return [head.slice(0, slash), head.slice(slash), matrix].map(tidy);
}
const idLooks = ["folder", "case", "matrix"];
const idParts = (instance) => idTexts(instance).map((text, place) => h("span", { class: idLooks[place] }, text));
const oneDevice = new Set(run.verdicts.map((verdict) => verdict.device)).size === 1 ? run.verdicts[0].device : "";

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from a file have no clipboard of their own in some browsers.
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1500);
}

/** A button that copies `text`, which the page does not show in full. */
function copyButton(title, text, look) {
  const button = h("button", { type: "button", class: look }, title);
  button.addEventListener("click", () => copy(text, button));
  return button;
}

function command(text) {
  const button = copyButton("Copy", text, "copy");
  return h("div", { class: "command" }, h("code", {}, text), button);
}

/** A word as a shell takes it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The command that prints a verdict's program as a script, with the files of its own that the command of the run names. */
function reproducer(verdict) {
  const options = tidy(verdict.repro ?? "").split(` ${quoted(tidy(verdict.id))} `)[1] ?? "";
  const files = [...` ${options}`.matchAll(/ --(?:suite|case-file|path-file|library|threads) (?:'(?:[^']|'\\'')*'|[^\s']+)(?= |$)/g)].join("");
  return `ci/lockstep repro ${quoted(tidy(verdict.id))}${files} --out repro.py`;
}

/** A line of Markdown as code, whatever is in it. */
function inline(text) {
  const line = tidy(text).replace(/\s+/g, " ");
  const fence = "`".repeat(1 + Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length)));
  return fence.length === 1 ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}

/** What a public report needs of a verdict, as Markdown: title, what was found, numbers, versions and commands. */
function publicReport(verdict) {
  const differing = (verdict.outputs ?? []).filter((item) => item.status !== "conform").map((item) => [item.name,
    item.differing !== undefined && item.elements !== undefined && `${grouped(item.differing)} of ${grouped(item.elements)} elements differ`,
    item.max_abs !== undefined && `absolute ${short(item.max_abs)}`, item.max_rel !== undefined && `relative ${short(item.max_rel)}`,
    item.max_ulp !== undefined && `${grouped(item.max_ulp)} ulp`, item.eager !== undefined && `eager ${item.eager}`,
    item.compiled !== undefined && `${verdict.path} ${item.compiled}`].filter(Boolean).join(", "));
  const raisedBy = [["eager", verdict.eager_error], [verdict.path, verdict.compiled_error]].filter(([, error]) => error)
    .map(([side, error]) => [side, "raises", error.class, error.message?.split("\n")[0]].filter(Boolean).join(" "));
  return [`# ${tidy(verdict.title || verdict.instance).replace(/\s+/g, " ")}`, "",
    `${statuses.get(verdict.status).label} on ${inline(verdict.path)}: ${inline(verdict.reason || statuses.get(verdict.status).meaning)}`, "",
    ...[...differing, ...raisedBy].map((line) => `- ${inline(line)}`), ...setting().filter(([what]) => what !== "level").map(([what, value]) => `- ${what} ${inline(value)}`),
    `- case ${inline(verdict.id)}`, "", ...[verdict.repro, reproducer(verdict)].filter(Boolean).map((line) => `- ${inline(line)}`), ""].join("\n");
}

/** Long output begins cut: a message may be a megabyte. */
function output(text, limit = 12000) {
  const pre = h("pre", { tabindex: "0" });
  if (text.length <= limit) {
    pre.append(tidy(text));
    return pre;
  }
  const all = h("button", { type: "button", class: "plain" }, `show all ${grouped(text.length)} characters`);
  all.addEventListener("click", () => pre.replaceChildren(tidy(text)));
  pre.append(tidy(text.slice(0, limit / 3)), "\n", all, "\n", tidy(text.slice(-2 * limit / 3)));
  return pre;
}

const section = (title, ...content) => h("section", { class: "part" }, h("h3", {}, title), ...content);

const facts = (pairs) => h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== "" && value !== null)
  .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))));

/** The ladder of grades with the step that was reached. */
function ladder(grade) {
  if (!grade) return null;
  const reached = grades.indexOf(grade);
  return h("span", { class: "ladder", role: "img", "aria-label": `grade ${grade}, step ${reached + 1} of ${grades.length}`, title: grades.join(" › ") },
    grades.slice(0, -1).map((_, step) => h("i", { class: step >= reached ? "on" : "" })), h("b", {}, grade));
}

function raised(side, error) {
  return h("article", { class: "error" },
    h("header", {}, h("h4", {}, side),
      error ? h("span", { class: "type" }, error.class ?? "", error.stage ? ` · stage ${error.stage}` : "")
        : h("span", { class: "type" }, "no error")),
    error?.wrapped?.length > 0 && h("p", { class: "label" }, `wrapped in ${error.wrapped.join(", ")}`),
    error?.message && output(error.message));
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
  return [bar, h("ul", { class: "legend" }, entries.map(([name, value], place) =>
    h("li", {}, h("i", { class: `tone-${place % 6}`, "aria-hidden": "true" }), name, " ", h("b", {}, seconds(value)))))];
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
  const met = verdict.standing === "fixed"
    ? `${statuses.get(rule.status)?.label ?? rule.status} was expected and no longer happens: remove ${rule.file}`
    : `${statuses.get(rule.status)?.label ?? rule.status} is expected (${rule.because})`;
  return h("aside", { class: `callout kind-${verdict.kind}`, "aria-label": "Expectation" },
    h("p", {}, h("b", {}, met)), h("p", {}, rule.reason),
    h("p", { class: "label" }, verdict.standing === "fixed" ? "" : rule.file, " ", rule.link ? link(rule.link) : ""));
}

/** The same instance on the other paths. */
function siblings(verdict, open) {
  const others = [...onEveryPath(verdict.instance)]
    .sort((a, b) => pathOrder.get(a.path) - pathOrder.get(b.path));
  if (others.length < 2) return null;
  return section("On every path", h("ul", { class: "siblings" }, others.map((other) => h("li", {},
    h("button", { type: "button", "aria-current": other.place === verdict.place ? "true" : null, onclick: () => open(other) },
      h("span", {}, other.path), departureOf(other).first && h("span", { class: "tag" }, "departs first"), badge(other))))));
}

function proof(value) {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return section("Proof of compilation", h("p", {}, String(value)));
  return section("Proof of compilation", facts(Object.entries(value).map(([key, item]) =>
    [key, typeof item === "object" ? JSON.stringify(item) : String(item)])));
}

// "conform 2×, crash 1×"
function times(executions) {
  return Object.entries(executions).map(([status, count]) => `${statuses.get(status)?.label ?? status} ${count}×`).join(", ");
}

/** Who did it, where the run was told to explain: the sentence, what it rests on, and what nobody looked into. */
function explanation(found) {
  if (!found) return null;
  const guilty = new Set(found.guilty ?? []);
  const word = { yes: "as eager makes it", no: "not as eager makes it" };
  const ending = (found.knobs ?? []).filter((knob) => knob.ends);
  const tried = (found.knobs ?? []).filter((knob) => knob.status).length;
  const cells = [["step", (step) => step.text], ["value", (step) => [step.value, word[step.explained]].filter(Boolean).join(", ")],
    ["alone", (step) => step.alone && (statuses.get(step.alone)?.label ?? step.alone)], ["at", (step) => step.at?.join(", ")],
    ["eager", (step) => step.eager], ["compiled", (step) => step.compiled], ["fp64 gold", (step) => step.fp64],
    ["eager-faithful gold", (step) => step.stepwise]].filter(([, of]) => (found.steps ?? []).some((step) => of(step)));
  return section("Who did it", h("p", { class: "reason" }, found.sentence),
    found.ladder?.length > 0 && h("p", {}, "Layer: ", found.layer ? h("b", {}, found.layer_title || found.layer) : "none departs", ". ",
      found.ladder.map((rung) => `${rung.path} ${statuses.get(rung.status)?.label ?? rung.status ?? "not judged"}`).join(", "), "."),
    found.cast && h("p", {}, found.cast),
    cells.length > 0 && h("div", { class: "scroll" }, h("table", { class: "steps" },
      h("thead", {}, h("tr", {}, cells.map(([name]) => h("th", {}, name)))),
      h("tbody", {}, found.steps.map((step, place) => h("tr", { class: guilty.has(place) ? "guilty" : "" },
        cells.map(([, of], column) => h("td", {}, column === 0 && guilty.has(place) ? h("b", {}, of(step)) : of(step) ?? ""))))))),
    h("p", {}, ending.length > 0 ? `Ends with ${ending.map((knob) => knob.title ? `${knob.name} (${knob.title})` : knob.name).join(" or ")}.`
      : tried > 0 ? `None of ${tried} settings ends it.` : ""),
    found.pass?.subsystem && h("p", {}, `Pass: ${[found.pass.backend, found.pass.subsystem, found.pass.what].filter(Boolean).join(", ")}.`),
    found.open?.length > 0 && h("p", { class: "label" }, `Nobody looked into: ${found.open.join("; ")}.`));
}

function verdictDetails(verdict, open) {
  const path = run.run.paths.find((candidate) => candidate.name === verdict.path);
  const { begins } = departureOf(verdict);
  const issues = [...new Set([verdict.expectation?.link, ...(verdict.links ?? [])].filter(Boolean))];
  const failed = (verdict.outputs ?? []).filter((item) => item.status !== "conform");
  const fine = (verdict.outputs ?? []).filter((item) => item.status === "conform");
  return [
    h("header", { class: "headline" },
      h("p", { class: "badges" }, badge(verdict),
        verdict.standing !== "new" && h("span", { class: `standing kind-${verdict.kind}` }, verdict.standing),
        verdict.unstable && h("span", { class: "standing" }, "unstable", verdict.executions && `: ${times(verdict.executions)}`),
        verdict.reused && h("span", { class: "standing", title: "made by an earlier run: --reuse found nothing changed" }, `of ${verdict.reused}`),
        verdict.vacuous && h("span", { class: "standing" }, "vacuous"),
        verdict.weak && h("span", { class: "standing" }, "weak")),
      h("h2", {}, verdict.title || verdict.instance),
      h("p", { class: "id" }, idParts(verdict.instance), h("span", { class: "path" }, `/${verdict.path}`)),
      issues.length > 0 && h("p", { class: "label issues" }, issues.map(link))),
    h("p", { class: "reason" }, verdict.reason || statuses.get(verdict.status).meaning),
    verdict.causes && h("p", { class: "names" }, verdict.causes.length === 1 ? "Cause " : "Causes ", verdict.causes.map(causeButton)),
    begins && begins !== verdict.path && h("p", { class: "reason" }, `Departs already on ${begins}, a rung below this one.`),
    verdict.tolerated && h("p", { class: "reason" }, `Tolerated: ${toleratedText(verdict)}.`),
    verdict.weak && h("p", { class: "reason" }, `Weak: ${verdict.weak}.`),
    verdict.marks.includes("partly") && h("p", { class: "reason" },
      `Others than the path's own code executed ${Math.round(100 * verdict.share)} % of it: ${Object.keys(verdict.proof?.foreign ?? {}).join(", ")}.`),
    verdict.marks.includes("stated") && h("p", { class: "reason" }, "Who executed it is stated, not observed."),
    verdict.reference && h("p", { class: "reason" }, `Eager is that ${verdict.reference}.`),
    verdict.front_end && h("p", { class: "reason" }, "It is raised while the program is traced; no backend was reached."),
    verdict.nearer && h("p", { class: "reason" }, sentences[verdict.nearer] ?? verdict.nearer),
    verdict.shared && h("p", { class: "label" }, `compiled with ${grouped(verdict.shared)} other${verdict.shared === 1 ? "" : "s"}`),
    expectation(verdict),
    verdict.repro && command(verdict.repro),
    h("div", { class: "copies", role: "group", "aria-label": "Copy" }, copyButton("Copy reproducer command", reproducer(verdict), "plain"),
      copyButton("Copy text for a report", publicReport(verdict), "plain"), copyButton("Copy id", tidy(verdict.id), "plain")),
    explanation(verdict.explanation),
    failed.length > 0 && section("What differs", failed.map((item) => numbers(verdict, item))),
    (verdict.eager_error || verdict.compiled_error) && section("Errors",
      h("div", { class: "errors" }, raised("eager", verdict.eager_error), raised(verdict.path, verdict.compiled_error))),
    verdict.stderr_tail && section("Standard error, its end", output(verdict.stderr_tail)),
    siblings(verdict, open),
    verdict.program && section("The case", output(verdict.program), facts([["operators", verdict.operators?.join(", ")],
      ["dtypes of the inputs", verdict.dtypes?.join(", ")], ["tags", verdict.tags?.join(", ")]])),
    fine.length > 0 && section("What agrees", fine.map((item) => numbers(verdict, item))),
    section("Execution", facts([["path", path?.title ? `${verdict.path}: ${path.title}` : verdict.path],
      ["promise", path?.promise], ["device", verdict.device], ["grade", verdict.grade], ["last stage", verdict.stage],
      ["wall clock", seconds(verdict.seconds ?? 0)],
      ["peak memory", verdict.peak_memory_bytes ? `${grouped(Math.round(verdict.peak_memory_bytes / 1048576))} MiB` : ""],
      ["case", verdict.case_file ? `${verdict.case_file}:${verdict.case_line ?? 1}` : ""]]), phases(verdict.phases)),
    proof(verdict.proof),
    verdict.links?.length > 0 && section("Links", h("ul", { class: "links" }, verdict.links.map((url) => h("li", {}, link(url))))),
  ];
}

/** A cause that shows its verdicts when it is pressed. */
const causeButton = (name) => h("button", { type: "button", class: "chip", title: "its verdicts", onclick: () => narrow(`cause:${name}`) }, name);

/** What went wrong, by its name: what fails most first, each with its smallest example. */
function causesSection(open) {
  if (run.causes.length === 0) return null;
  const of = (cause) => totals.cause.get(cause.name) ?? { kinds: new Map(), operators: new Set() };
  const count = (cause) => of(cause).kinds.get("failing") ?? 0;
  const few = (names, most = 6) => names.slice(0, most).join(", ") + (names.length > most ? ` and ${grouped(names.length - most)} more` : "");
  const ordered = [...run.causes].sort((a, b) => count(b) - count(a) || b.verdicts - a.verdicts);
  const shown = 100;
  const item = (cause) => h("li", {},
    h("p", {}, causeButton(cause.name), kinds.filter((kind) => of(cause).kinds.has(kind.name)).map((kind) =>
      h("span", { class: `ink-${kind.name}` }, `${grouped(of(cause).kinds.get(kind.name))} ${kind.name}`))),
    h("p", { class: "label" }, [few([...of(cause).operators].map((name) => name.replace(/^aten::/, ""))), cause.dtypes.join(", "), cause.alone < cause.failing && `a fix mends ${grouped(cause.alone)}`, cause.paths.join(", ") + (cause.begins.length ? `, begins on ${cause.begins.join(", ")}` : ""),
      cause.grade && `grade ${cause.grade}`].filter(Boolean).join(" · ")),
    h("button", { type: "button", class: "text", onclick: () => open(run.verdicts.find((verdict) => verdict.id === cause.example)) }, cause.example));
  return section(`Causes: ${grouped(run.causes.length)}`, h("ol", { class: "causes" }, ordered.slice(0, shown).map(item)),
    ordered.length > shown && h("p", { class: "label" }, `and ${grouped(ordered.length - shown)} more: ci/lockstep report --causes`));
}

/** Counts by kind for each path. */
function pathTable() {
  const used = kinds.filter((kind) => totals.kind.has(kind.name));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Verdicts by path" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "path"), h("th", { scope: "col" }, "promise"),
      used.map((kind) => h("th", { scope: "col", class: "number" }, kind.name)))),
    h("tbody", {}, [...pathOrder.keys()].map((name) => {
      const path = run.run.paths.find((candidate) => candidate.name === name);
      return h("tr", {}, h("th", { scope: "row", title: path?.title }, name), h("td", {}, path?.promise ?? ""), used.map((kind) => {
        const count = totals.path.get(name)?.get(kind.name);
        return h("td", { class: `number ${count ? `ink-${kind.name}` : "none"}` }, count ? grouped(count) : "–");
      }));
    }))));
}

/** Which overloads of the torch at hand were executed and judged, closed at first; nothing where nobody counted. */
function coverageSection() {
  const counts = run.end?.coverage ?? [];
  if (counts.length === 0) return null;
  const share = ({ judged, all }) => `${grouped(judged)} of ${grouped(all)}${all > 0 ? ` (${(Math.floor(1000 * judged / all) / 10).toFixed(1)} %)` : ""}`;
  const sets = [...new Set(counts.map((count) => count.of))];
  const places = [...new Set(counts.map((count) => count.path))];
  const one = (set, path) => counts.find((count) => count.of === set && count.path === path);
  return h("details", { class: "part coverage" }, h("summary", {}, h("h3", {}, `Coverage: ${share(one(sets[0], undefined))} ${sets[0]} overloads`)),
    h("p", { class: "label" }, "Overloads that eager said it called, in verdicts that compared with it what the path’s own code computed. core: those that torch tags so; functional: those that a case can call on a CPU."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Coverage" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "path"), sets.map((set) => h("th", { scope: "col", class: "number" }, set)))),
      h("tbody", {}, places.map((path) => h("tr", {}, h("th", { scope: "row" }, tidy(path ?? "any path")),
        sets.map((set) => h("td", { class: "number" }, one(set, path) ? share(one(set, path)) : "–"))))))),
    sets.map((set) => {
      const gaps = one(set, undefined).gaps ?? [];
      return gaps.length > 0 && [h("p", { class: "label" }, `${set}, not judged:`), h("ul", { class: "links" }, gaps.map((gap) =>
        h("li", {}, `${grouped(gap.count)}: ${tidy(gap.why)} `, h("code", {}, tidy((gap.names ?? []).map((name) => name.replace(/^aten::/, "")).join(", "))))))];
    }));
}

function runDetails(open) {
  const info = run.run;
  const slowest = sorted("time", false).slice(0, 5).filter((verdict) => verdict.seconds > 0);
  const unmatched = run.run.shard ? [] : run.end?.unmatched ?? [];  // other shards may have met them
  return [
    h("header", { class: "headline" }, h("h2", {}, "The run"),
      h("p", { class: "id" }, `lockstep ${info.arguments.join(" ")}`)),
    causesSection(open),
    facts([["started", info.started.replace("T", " ").replace("Z", " UTC")], ["took", run.end ? seconds(run.end.seconds) : "unknown: the log has no end"],
      ["level", info.level], ["devices", info.devices.join(", ")], ["at a time", info.jobs], ["Lockstep", info.version],
      ["judged", `${grouped(run.judged.judged)} of ${grouped(run.judged.could)} that could be`],
      ...info.absent_paths.map((path) => [path.name, `${path.reason}; not run`]),
      ...info.paths.flatMap((path) => (path.declared?.tolerances ?? []).map((rule) => [`${path.name} declares`,
        `${rule.operators.join(", ")} of ${rule.dtypes.join(", ")} within rtol ${rule.rtol}, atol ${rule.atol}: ${rule.reason}`])),
      ...Object.entries(info.digests).map(([name, digest]) => [name, h("code", {}, digest)]), ["plan", h("code", {}, info.plan)]]),
    section("By path", pathTable()),
    accuracySection(),
    coverageSection(),
    section("Where the time went", phases(run.phases), h("ol", { class: "slowest" }, slowest.map((verdict) =>
      h("li", {}, h("b", {}, seconds(verdict.seconds)), h("button", { type: "button", class: "text", onclick: () => open(verdict) }, verdict.id))))),
    unmatched.length > 0 && section("Expectations that met nothing",
      h("ul", { class: "links" }, unmatched.map((rule) => h("li", {}, h("code", {}, rule.where), " ", rule.text)))),
    section("Environment", Object.entries(run.environment).map(([worker, values]) => h("div", { class: "worker" }, h("h4", {}, worker),
      typeof values === "object" && values !== null
        ? facts(Object.entries(values).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : String(value)]))
        : h("p", {}, String(values))))),
    section("What the signs mean", h("dl", { class: "meanings" },
      run.statuses.filter((status) => totals.status.has(status.name)).map((status) =>
        h("div", {}, h("dt", {}, status.label), h("dd", {}, status.meaning))))),
  ];
}

const helpText = () => [
  h("h2", { id: "keys-title" }, "Keyboard and filter"),
  h("dl", { class: "help" }, [
    ["/", "filter"], ["j k ↑ ↓", "move; Home, End, Page Up, Page Down too"], ["← →", "move between paths in the matrix"],
    ["Enter", "read the details"], ["Esc", "back to the list, then to the run"], ["m", "list, matrix or operators"], ["c", "copy the command that repeats the verdict"],
  ].map(([keysText, meaning]) => h("div", {}, h("dt", {}, h("kbd", {}, keysText)), h("dd", {}, meaning)))),
  h("p", {}, "The filter speaks the language of the command line. Terms of one kind are alternatives, terms of different kinds must all hold, ! excludes, * and ? stand for anything. Ids are meant whole. and, or, not and parentheses join terms."),
  h("dl", { class: "help" }, [
    ["softmax bfloat16", "words in the id, title or reason"], ["ops/*  bugs/185337*", "ids"], [`is:${kinds.map((kind) => kind.name).join(" is:")}`, `what it does to the run; also is:${run.marks.map((mark) => mark.name).join(", is:")}`],
    ["status:crash status:timeout", "what the judge says"], ["cause:softshrink:*", "what went wrong, by its name"],
    ["path:inductor device:cuda* grade:none stage:compile nearer:eager because:bug", "the rest of a verdict"],
    ["tag:precision-cast op:add dtype:float16", "of the case: its tags, its operators, the dtypes of its inputs"],
    ["reason:NaN", "a part of the reason"], ["!is:known", "all but these"], ["status:failing and (op:add or not path:inductor)", "terms that are joined"],
  ].map(([example, meaning]) => h("div", {}, h("dt", {}, h("code", {}, example)), h("dd", {}, meaning)))),
  h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")),
];
