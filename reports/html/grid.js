// A grid of which only the visible rows exist, so that it scrolls smoothly however long the run was.
// Focus stays on the grid; aria-activedescendant tells which row or cell is meant.

class Grid {
  /** `row(item, place)` gives the cells of a row; `columns` is 1 where rows are chosen, not cells. */
  constructor({ label, look, header, row, choose, enter }) {
    this.row = row;
    this.choose = choose;
    this.items = [];
    this.place = -1;
    this.column = 0;
    this.columns = 1;
    this.head = h("div", { role: "row", class: "row head", "aria-rowindex": "1" });
    this.space = h("div", { class: "space", role: "rowgroup" });
    this.body = h("div", { class: `body ${look}`, role: "grid", tabindex: "0", "aria-label": label },
      h("div", { role: "rowgroup", class: "headgroup" }, this.head), this.space);
    this.header = header;
    this.element = this.body;
    this.rows = new Map();
    this.body.addEventListener("scroll", () => {
      this.top = this.body.scrollTop;
      this.draw();
    }, { passive: true });
    this.body.addEventListener("keydown", (event) => this.key(event, enter));
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[data-place]");
      if (!row) return;
      const cell = event.target.closest("[data-column]");
      this.move(Number(row.dataset.place), cell ? Number(cell.dataset.column) : this.column, true);
      enter(false);
    });
    new ResizeObserver(() => {
      this.measure();
      this.draw(true);
    }).observe(this.body);
  }

  /** Pixels that are kept: to ask for them between two changes makes the browser lay the page out for each. */
  measure() {
    this.height = parseFloat(getComputedStyle(this.body).getPropertyValue("--row")) || 34;
    this.room = this.body.clientHeight;
    this.top = this.body.scrollTop;
  }

  show(items, place) {
    if (!this.room) this.measure();
    this.items = items;
    this.place = place;
    this.head.replaceChildren(...this.header());
    this.body.setAttribute("aria-rowcount", items.length + 1);
    this.draw(true);
    if (place >= 0) this.reveal();
  }

  draw(anew = false) {
    const height = this.height;
    const first = Math.max(0, Math.floor(Math.min(this.top, Math.max(0, this.items.length * height - this.room)) / height) - 6);
    const last = Math.min(this.items.length, first + Math.ceil(this.room / height) + 13);
    this.space.style.height = `${this.items.length * height}px`;
    for (const [place, row] of this.rows) {
      if (anew || place < first || place >= last) {
        row.remove();
        this.rows.delete(place);
      }
    }
    for (let place = first; place < last; ++place) {
      if (this.rows.has(place)) continue;
      const row = this.row(this.items[place], place);
      row.dataset.place = place;
      row.id = `${this.body.getAttribute("aria-label").replace(/\W/g, "")}-${place}`;
      row.setAttribute("role", "row");
      row.setAttribute("aria-rowindex", place + 2);
      row.style.transform = `translateY(${place * height}px)`;
      this.rows.set(place, row);
      this.space.append(row);
    }
    this.mark();
  }

  mark() {
    let active = null;
    for (const [place, row] of this.rows) {
      const chosen = place === this.place;
      row.classList.toggle("chosen", chosen);
      row.setAttribute("aria-selected", chosen);
      for (const cell of row.querySelectorAll("[data-column]")) {
        const meant = chosen && Number(cell.dataset.column) === this.column;
        cell.classList.toggle("chosen", meant);
        if (meant) {
          cell.id = `${row.id}-${cell.dataset.column}`;
          active = cell;
        }
      }
      if (chosen && !active) active = row;
    }
    if (active) this.body.setAttribute("aria-activedescendant", active.id);
    else this.body.removeAttribute("aria-activedescendant");
  }

  reveal() {
    const top = this.place * this.height;
    const headHeight = this.head.offsetHeight;
    const visible = this.body.clientHeight - headHeight;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    else if (top + this.height > this.body.scrollTop + visible) this.body.scrollTop = top + this.height - visible;
    this.top = this.body.scrollTop;
    this.draw();
  }

  move(place, column = this.column, quiet = false) {
    if (this.items.length === 0) return;
    this.place = Math.min(Math.max(place, 0), this.items.length - 1);
    this.column = Math.min(Math.max(column, 0), this.columns - 1);
    if (!quiet) this.reveal();
    this.mark();
    this.choose(this.items[this.place], this.column);
  }

  key(event, enter) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.body) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.height) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.move(this.place + steps[event.key]);
    else if (event.key === "Home") this.move(0);
    else if (event.key === "End") this.move(this.items.length - 1);
    else if (event.key === "ArrowRight" && this.columns > 1) this.move(Math.max(this.place, 0), this.column + 1);
    else if (event.key === "ArrowLeft" && this.columns > 1) this.move(Math.max(this.place, 0), this.column - 1);
    else if (event.key === "Enter" && this.place >= 0) enter(true);
    else return;
    event.preventDefault();
  }
}
