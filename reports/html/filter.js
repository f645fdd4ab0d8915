// The filter: the language of the command line (plan/filter_parser.h), for what a verdict knows.
// What both must say of the same text is in runner/plan/testdata/filters.json.

// Verdicts that have the same operators have the same list of them (page_data.cpp).
const none = [];
const named = new Map();
function namesOf(operators) {
  if (!named.has(operators)) named.set(operators, operators.flatMap(operatorNames));
  return named.get(operators);
}

/** How a key of the filter reads a verdict. */
const keys = {
  id: null,
  word: null,
  tag: (v) => v.tags ?? none,
  op: (v) => namesOf(v.operators ?? none),
  dtype: (v) => v.dtypes ?? none,
  path: (v) => [v.path],
  device: (v) => [v.device],
  status: (v) => [
    v.status,
    v.standing,
    v.kind === "failing" && "failing",
    statuses.get(v.status).diverges && "diverging",
  ],
  is: (v) => [v.kind, ...v.marks],
  standing: (v) => [v.standing],
  grade: (v) => [v.grade],
  stage: (v) => [v.stage],
  nearer: (v) => [v.nearer],
  because: (v) => [v.expectation?.because],
  fingerprint: (v) => v.fingerprints ?? none,
  reason: (v) => [v.reason, v.expectation?.reason],
};

/** A text that the filter refuses: what was found, what was expected, and what may be meant. */
class Refused extends Error {}

/** Steps from one word to the other: letters put in, left out or replaced. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, place) => place);
  for (let i = 0; i < a.length; ++i) {
    const next = [i + 1];
    for (let j = 0; j < b.length; ++j)
      next.push(Math.min(row[j] + (a[i] === b[j] ? 0 : 1), row[j + 1] + 1, next[j] + 1));
    row = next;
  }
  return row[b.length];
}

/** " Did you mean `path`?", or which words there are. */
function suggestion(found, words) {
  const text = found.slice(0, 200);
  const best = words.map((word) => [distance(text, word), word]).sort((a, b) => a[0] - b[0])[0];
  if (best && best[0] <= Math.max(2, Math.floor(text.length / 3)))
    return ` Did you mean \`${best[1]}\`?`;
  return words.length > 30 ? "" : ` Known are ${words.join(", ")}.`;
}

/** The place after the bracket that closes the one at `at`; the next place where none does. */
function afterBrackets(text, at) {
  let depth = 0;
  for (let i = at; i < text.length; ++i) {
    if (text[i] === "[") ++depth;
    if (text[i] === "]" && --depth === 0) return i + 1;
  }
  return at + 1;
}

/** The tokens of a filter: {kind, word, from}; a bracket of an id may hold blanks, and a
 *  parenthesis that a word does not open closes a group. */
function tokensOf(text) {
  const joins = ["and", "or", "not"];
  const tokens = [];
  for (let at = 0; at < text.length; ) {
    if (/[ \t\n]/.test(text[at])) {
      ++at;
    } else if (text[at] === "(") {
      tokens.push({ kind: "(", word: "(", from: at++ });
    } else if (text.startsWith("!(", at)) {
      tokens.push({ kind: "not", word: "!", from: at++ });
    } else {
      const from = at;
      while (at < text.length && !/[ \t\n]/.test(text[at]))
        at = text[at] === "[" ? afterBrackets(text, at) : at + 1;
      let word = text.slice(from, at);
      const count = (sign) => word.split(sign).length - 1;
      let closing = 0;
      for (; word.endsWith(")") && count(")") > count("("); ++closing) word = word.slice(0, -1);
      if (word) tokens.push({ kind: joins.includes(word) ? word : "term", word, from });
      for (let i = 0; i < closing; ++i)
        tokens.push({ kind: ")", word: ")", from: from + word.length + i });
    }
  }
  return tokens;
}

/** A glob in which * and ? match anything, "/" too, and brackets are themselves, as on the command
 *  line. */
function glob(pattern) {
  const escaped = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${escaped}$`, "s");
}

/** {kind, excludes, holds} of a word of the filter. */
function termOf(word) {
  const excludes = word.startsWith("!");
  let pattern = excludes ? word.slice(1) : word;
  const colon = pattern.indexOf(":");
  const end = pattern.search(/[[@/]/); // an id has no colon before its matrix
  let kind = /[*?/:@[]/.test(pattern) ? "id" : "word";
  if (colon >= 0 && (end < 0 || colon < end)) {
    kind = pattern.slice(0, colon);
    pattern = pattern.slice(colon + 1);
    if (!Object.hasOwn(keys, kind))
      throw new Refused(`There is no filter \`${kind}:\`.${suggestion(kind, Object.keys(keys))}`);
  }
  if (pattern === "") throw new Refused(`Found \`${word}\`, expected something to look for.`);
  if (kind === "status") {
    const words = ["failing", "diverging", ...standings.keys(), ...statuses.keys()];
    const wanted = glob(pattern);
    if (!words.some((each) => wanted.test(each)))
      throw new Refused(
        `Found \`status:${pattern}\`, expected a status, a standing, \`failing\` or \`diverging\`.${suggestion(pattern, words)}`,
      );
  }
  return { kind, excludes, holds: predicate(kind, pattern) };
}

/** The same test, made once for each of few values that many verdicts have. */
function once(test) {
  const known = new Map();
  return (value) => {
    if (!known.has(value)) known.set(value, Boolean(value) && test(value));
    return known.get(value);
  };
}

function predicate(kind, pattern) {
  const needle = pattern.toLowerCase();
  const matches = glob(pattern);
  const inReasons = [
    bySearch("reason", needle),
    bySearch("expectation", needle, (expectation) => expectation.reason),
  ];
  if (kind === "word") {
    // An id is an instance, a slash and a path.
    const ofIds = needle.includes("/") ? ["id"] : ["instance", "path"];
    return anyOf([
      ...[...ofIds, "title", "errors"].map((key) => bySearch(key, needle)),
      bySearch("fingerprints", needle, (each) => each.join("\n")),
      ...inReasons,
    ]);
  }
  if (kind === "reason" && !/[*?]/.test(pattern)) return anyOf(inReasons);
  if (kind === "device" && !pattern.includes(":"))
    return (v) => matches.test(v.device.split(":")[0]);
  if (kind === "id") {
    const hasMatrix = pattern.includes("["); // then the device may be left out
    const hasPath = /@[^/]*\//.test(pattern);
    return anyOf([
      byValue(
        "instance",
        (instance) =>
          matches.test(instance) ||
          matches.test(instance.split(/[[@]/, 1)[0]) ||
          (hasMatrix && matches.test(instance.slice(0, instance.lastIndexOf("@")))),
      ),
      ...(hasPath ? [byValue("id", (id) => matches.test(id))] : []),
    ]);
  }
  const holds = once((value) => matches.test(value));
  return (v) => keys[kind](v).some(holds);
}

const deepest = 100; // of parentheses and `not` in each other

/** A function that says whether a verdict passes, or Refused.  Terms of one kind that stand side by
 *  side are alternatives, kinds must all hold, "!" and `not` exclude, and words narrow each other
 *  down; `and` joins such lists, and `or` what `and` joined. */
function compileFilter(text) {
  const tokens = [...tokensOf(text), { kind: "end", word: "", from: text.length }];
  if (tokens.length === 1) return () => true;
  let at = 0;
  let depth = 0;
  const next = () => tokens[at].kind;
  const unexpected = (expected) => {
    const { kind, word, from } = tokens[at];
    throw new Refused(
      `Column ${from + 1}: found ${kind === "end" ? "the end" : `\`${word}\``}, expected ${expected}; for example status:failing and (op:add or op:mul).`,
    );
  };
  const joined = (word, part, join) => {
    const parts = [part()];
    for (; next() === word; parts.push(part())) ++at;
    return parts.length === 1 ? parts[0] : join(parts);
  };
  const selection = () =>
    joined("or", conjunction, (parts) => (v) => parts.some((holds) => holds(v)));
  const conjunction = () => joined("and", list, (parts) => (v) => parts.every((holds) => holds(v)));
  const list = () => {
    const groups = [];
    const alternatives = new Map();
    while (["term", "not", "("].includes(next())) {
      const { kind, excludes, holds } = factor();
      if (excludes) groups.push((v) => !holds(v));
      else if (!kind || kind === "word") groups.push(holds);
      else alternatives.set(kind, [...(alternatives.get(kind) ?? []), holds]);
    }
    for (const some of alternatives.values()) groups.push((v) => some.some((holds) => holds(v)));
    if (groups.length === 0) unexpected("a term");
    return (v) => groups.every((holds) => holds(v));
  };
  const factor = () => {
    if (next() === "term") return termOf(tokens[at++].word);
    if (++depth > deepest) unexpected(`at most ${deepest} of \`(\` and \`not\` in each other`);
    let result;
    if (next() === "not") {
      ++at;
      if (!["term", "not", "("].includes(next())) unexpected("a term");
      const { excludes, holds } = factor();
      result = { excludes: !excludes, holds };
    } else {
      const { from } = tokens[at++];
      result = { holds: selection() };
      if (next() !== ")") unexpected(`\`)\` for the \`(\` at column ${from + 1}`);
      ++at;
    }
    --depth;
    // A negation or a group stands for itself: it is no alternative to a term.
    return result;
  };
  const holds = selection();
  if (next() !== "end") unexpected("a term or the end");
  return holds;
}

/** The terms that must hold or are alternatives at the outermost level; nothing where `and` or `or`
 *  joins there. */
function outermost(text) {
  let depth = 0;
  const terms = [];
  for (const [place, token] of tokensOf(text).entries()) {
    if (token.kind === "(") ++depth;
    else if (token.kind === ")") --depth;
    else if (depth === 0 && (token.kind === "and" || token.kind === "or")) return null;
    else if (depth === 0 && token.kind === "term" && tokensOf(text)[place - 1]?.kind !== "not")
      terms.push(token);
  }
  return terms;
}

/** The filter with a term switched on or off. */
function toggleTerm(text, term) {
  const terms = outermost(text);
  const there = terms?.find(({ word }) => word === term);
  if (there)
    return `${text.slice(0, there.from).trim()} ${text.slice(there.from + term.length).trim()}`.trim();
  return terms ? `${text.trim()} ${term}`.trim() : `(${text.trim()}) ${term}`;
}

function hasTerm(text, term) {
  return Boolean(outermost(text)?.some(({ word }) => word === term));
}
