// What is printed: the run, what is being read, and the verdicts that the filter lets through.

const onPaper = 1000; // verdicts

/** The story for paper; `read` is what the pane on the right shows, `visible` what the list
 *  does. */
function paper(read, visible, query) {
  const item = (verdict) =>
    h(
      "li",
      {},
      h(
        "p",
        {},
        h(
          "strong",
          { class: `ink-${verdict.kind}` },
          `${verdict.kind === "conform" ? "" : `${verdict.kind}: `}${statuses.get(verdict.status).label}`,
        ),
        " ",
        h("code", {}, verdict.id),
      ),
      reasonOf(verdict) && h("p", {}, reasonOf(verdict)),
      verdict.expectation?.link && h("p", {}, link(verdict.expectation.link)),
    );
  return [
    h("h1", {}, "Lockstep"),
    h("p", {}, $("subtitle").textContent),
    h(
      "p",
      {},
      kinds
        .filter((kind) => totals.kind.get(kind.name))
        .map((kind) => `${grouped(totals.kind.get(kind.name))} ${kind.name}`)
        .join(", "),
    ),
    !$("alert").hidden && h("p", {}, $("alert").textContent),
    h(
      "p",
      {},
      setting()
        .map(([what, value]) => `${what} ${value}`)
        .join(" · "),
    ),
    pathTable(),
    read && h("div", { class: "details" }, read),
    h(
      "h2",
      {},
      query.trim()
        ? `${grouped(visible.length)} of ${grouped(run.verdicts.length)} verdicts${unloaded() > 0 ? " that are loaded" : ""}: ${query.trim()}`
        : "Verdicts",
    ),
    h("ul", {}, visible.slice(0, onPaper).map(item)),
    visible.length > onPaper && h("p", {}, `and ${grouped(visible.length - onPaper)} more`),
    unloaded() > 0 && h("p", {}, `${grouped(unloaded())} verdicts are not loaded`),
  ];
}
