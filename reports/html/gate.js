// Filters the rows of a gate by the words that they have, and copies its commands.

const filter = document.getElementById("filter");
const sections = [...document.querySelectorAll("section")].map((element) => ({
  element,
  count: element.querySelector(".count"),
  all: element.querySelector(".count").textContent,
  changes: [...element.querySelectorAll(".change")],
}));
const texts = new Map(); // of a change, made when it is first searched
const textOf = (change) => {
  if (!texts.has(change)) texts.set(change, change.textContent.toLowerCase());
  return texts.get(change);
};

function apply() {
  const words = filter.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word && word !== "-");
  const fits = (change) =>
    words.every((word) =>
      word[0] === "-" ? !textOf(change).includes(word.slice(1)) : textOf(change).includes(word),
    );
  let shown = 0;
  let all = 0;
  for (const section of sections) {
    let here = 0;
    for (const change of section.changes) {
      change.hidden = !fits(change);
      here += !change.hidden;
    }
    section.element.hidden = words.length > 0 && here === 0;
    section.count.textContent =
      words.length > 0 ? `${here.toLocaleString("en")} of ${section.all}` : section.all;
    shown += here;
    all += section.changes.length;
  }
  document.getElementById("count").textContent =
    words.length > 0 ? `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} rows` : "";
  history.replaceState(
    null,
    "",
    words.length > 0 ? `#filter=${encodeURIComponent(filter.value)}` : "#",
  );
}

function begin() {
  filter.parentElement.hidden = false;
  filter.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === filter) return;
    event.preventDefault();
    filter.focus();
  });
  const wanted = location.hash.match(/^#filter=(.*)$/);
  if (wanted) {
    try {
      filter.value = decodeURIComponent(wanted[1]);
    } catch {
      filter.value = "";
    }
    apply();
  }
}

for (const button of document.querySelectorAll(".copy")) {
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "copied";
  });
}

if (sections.length > 0) begin();
