// What of a verdict goes elsewhere: the command that prints its script, and a public report.

/** A word as a shell takes it. */
const quoted = (word) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The command that prints a verdict's program as a script, with the files of its own that the
 *  command of the run names. */
function reproducer(verdict) {
  const options = tidy(verdict.repro ?? "").split(` ${quoted(tidy(verdict.id))} `)[1] ?? "";
  const files = [
    ...` ${options}`.matchAll(
      / --(?:suite|case-file|path-file|library|threads) (?:'(?:[^']|'\\'')*'|[^\s']+)(?= |$)/g,
    ),
  ].join("");
  return `ci/lockstep repro ${quoted(tidy(verdict.id))}${files} --to repro.py`;
}

/** A line of Markdown as code, whatever is in it. */
function inline(text) {
  const line = tidy(text).replace(/\s+/g, " ");
  const fence = "`".repeat(
    1 + Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length)),
  );
  return fence.length === 1 ? `\`${line}\`` : `${fence} ${line} ${fence}`;
}

/** What a public report needs of a verdict, as Markdown: title, what was found, numbers, versions
 *  and commands. */
function publicReport(verdict) {
  const differing = (verdict.outputs ?? [])
    .filter((item) => item.status !== "conform")
    .map((item) =>
      [
        item.name,
        item.differing !== undefined &&
          item.elements !== undefined &&
          `${grouped(item.differing)} of ${grouped(item.elements)} elements differ`,
        item.max_abs !== undefined && `absolute ${short(item.max_abs)}`,
        item.max_rel !== undefined && `relative ${short(item.max_rel)}`,
        item.max_ulp !== undefined && `${grouped(item.max_ulp)} ulp`,
        item.eager !== undefined && `eager ${item.eager}`,
        item.compiled !== undefined && `${verdict.path} ${item.compiled}`,
      ]
        .filter(Boolean)
        .join(", "),
    );
  const raisedBy = [
    ["eager", verdict.eager_error],
    [verdict.path, verdict.compiled_error],
  ]
    .filter(([, error]) => error)
    .map(([side, error]) =>
      [side, "raises", error.class, error.message?.split("\n")[0]].filter(Boolean).join(" "),
    );
  return [
    `# ${tidy(verdict.title || verdict.instance).replace(/\s+/g, " ")}`,
    "",
    `${statuses.get(verdict.status).label} on ${inline(verdict.path)}: ${inline(verdict.reason || statuses.get(verdict.status).meaning)}`,
    "",
    ...[...differing, ...raisedBy].map((line) => `- ${inline(line)}`),
    ...setting()
      .filter(([what]) => what !== "level")
      .map(([what, value]) => `- ${what} ${inline(value)}`),
    `- case ${inline(verdict.id)}`,
    "",
    ...[verdict.repro, reproducer(verdict)].filter(Boolean).map((line) => `- ${inline(line)}`),
    "",
  ].join("\n");
}
