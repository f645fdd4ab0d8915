// A grid of which only the visible rows exist, so that it scrolls smoothly however long the run
// was. Focus stays on the grid; aria-activedescendant tells which row or cell is meant.

class Grid {
  /** `row(item, place)` gives the cells of a row; `columns` is 1 where rows are chosen, not cells.
   *  `heightOf(item, width)` is the height in pixels of a row whose column of ids is so wide: what
   *  `roomOf` finds when the page was laid out. */
  constructor({
    label,
    look,
    header,
    row,
    choose,
    enter,
    heightOf = () => this.least,
    roomOf = (grid) => grid.head.querySelector(".instance").clientWidth,
  }) {
    this.row = row;
    this.heightOf = heightOf;
    this.roomOf = roomOf;
    this.choose = choose;
    this.items = [];
    this.ends = new Float64Array(0);
    this.width = 0;
    this.place = -1;
    this.column = 0;
    this.columns = 1;
    this.head = h("div", { role: "row", class: "row head", "aria-rowindex": "1" });
    this.space = h("div", { class: "space", role: "rowgroup" });
    this.body = h(
      "div",
      { class: `body ${look}`, role: "grid", tabindex: "0", "aria-label": label },
      h("div", { role: "rowgroup", class: "headgroup" }, this.head),
      this.space,
    );
    this.header = header;
    this.element = this.body;
    this.rows = new Map();
    this.body.addEventListener(
      "scroll",
      () => {
        this.top = this.body.scrollTop;
        this.draw();
      },
      { passive: true },
    );
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

  /** Pixels that are kept: to ask for them between two changes makes the browser lay the page out
   *  for each. */
  measure() {
    this.least = parseFloat(getComputedStyle(this.body).getPropertyValue("--row")) || 34;
    this.room = this.body.clientHeight;
    this.top = this.body.scrollTop;
    const width = this.head.firstChild ? this.roomOf(this) : 0;
    if (width === this.width) return;
    this.width = width;
    this.stack();
  }

  /** Where each row begins: ends[place - 1], in pixels from the first. An item keeps its height as
   *  long as the column of ids is so wide: most of them are there again after the next key. */
  stack() {
    const { items, width } = this;
    this.ends = new Float64Array(items.length);
    let end = 0;
    for (let place = 0; place < items.length; ++place) {
      const item = items[place];
      if (item.heightIn !== width) {
        item.heightIn = width;
        item.height = this.heightOf(item, width);
      }
      end += item.height;
      this.ends[place] = end;
    }
    this.space.style.height = `${end}px`;
  }
  begin(place) {
    return place > 0 ? this.ends[place - 1] : 0;
  }
  /** The row at so many pixels from the first. */
  placeAt(pixels) {
    let low = 0;
    let high = this.ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] > pixels) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  show(items, place) {
    this.items = items;
    this.place = place;
    this.head.replaceChildren(...this.header());
    if (!this.room) this.measure();
    this.stack();
    this.body.setAttribute("aria-rowcount", items.length + 1);
    this.draw(true);
    if (place >= 0) this.reveal();
  }

  draw(anew = false) {
    const top = Math.min(this.top, Math.max(0, this.begin(this.items.length) - this.room));
    const first = Math.max(0, this.placeAt(top) - 6);
    const last = Math.min(this.items.length, this.placeAt(top + this.room) + 7);
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
      row.style.transform = `translateY(${this.begin(place)}px)`;
      row.style.height = `${this.ends[place] - this.begin(place)}px`;
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
    const top = this.begin(this.place);
    const end = this.ends[this.place];
    const visible = this.body.clientHeight - this.head.offsetHeight;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    else if (end > this.body.scrollTop + visible) this.body.scrollTop = end - visible;
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
    const page = Math.max(1, Math.floor(this.room / this.least) - 2);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.move(this.place + steps[event.key]);
    else if (event.key === "Home") this.move(0);
    else if (event.key === "End") this.move(this.items.length - 1);
    else if (event.key === "ArrowRight" && this.columns > 1)
      this.move(Math.max(this.place, 0), this.column + 1);
    else if (event.key === "ArrowLeft" && this.columns > 1)
      this.move(Math.max(this.place, 0), this.column - 1);
    else if (event.key === "Enter" && this.place >= 0) enter(true);
    else return;
    event.preventDefault();
  }
}
