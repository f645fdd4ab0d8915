// What every part of the page is made of.  Every string of the run becomes a text node; nothing is
// ever parsed as HTML.

/** An element: h("p", {class: "x", onclick: f}, "text", node, null, [more]). */
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => (child instanceof Node ? child : document.createTextNode(tidy(child)))),
  );
  return element;
}

/** Only these are links: a log may hold any string. */
function link(url) {
  if (!/^https?:\/\//i.test(url)) return h("span", {}, url);
  return h(
    "a",
    { href: url, target: "_blank", rel: "noopener noreferrer" },
    url.replace(/^https?:\/\//i, ""),
  );
}

const badge = (verdict) =>
  h(
    "span",
    { class: `badge kind-${verdict.kind}` },
    h("span", { class: "glyph", "aria-hidden": "true" }, glyphOf(verdict)),
    statuses.get(verdict.status).label,
  );

/** The id in its parts; `short` leaves out a device that all verdicts share. */
function idTexts(instance, short = false) {
  const cut = instance.search(/[[@]/);
  const head = cut < 0 ? instance : instance.slice(0, cut);
  const slash = head.lastIndexOf("/") + 1;
  let matrix = cut < 0 ? "" : instance.slice(cut);
  if (short && run.device && matrix.endsWith(`@${run.device}`))
    matrix = matrix.slice(0, -run.device.length - 1);
  return [head.slice(0, slash), head.slice(slash), matrix].map(tidy);
}
const idLooks = ["folder", "case", "matrix"];
const idParts = (instance) =>
  idTexts(instance).map((text, place) => h("span", { class: idLooks[place] }, text));

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

/** Long output begins cut: a message may be a megabyte. */
function output(text, limit = 12000) {
  const pre = h("pre", { tabindex: "0" });
  if (text.length <= limit) {
    pre.append(tidy(text));
    return pre;
  }
  const all = h(
    "button",
    { type: "button", class: "plain" },
    `show all ${grouped(text.length)} characters`,
  );
  all.addEventListener("click", () => pre.replaceChildren(tidy(text)));
  pre.append(tidy(text.slice(0, limit / 3)), "\n", all, "\n", tidy(text.slice((-2 * limit) / 3)));
  return pre;
}

const section = (title, ...content) =>
  h("section", { class: "part" }, h("h3", {}, title), ...content);

const facts = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== undefined && value !== "" && value !== null)
      .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))),
  );
