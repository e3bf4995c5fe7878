/** A result as a table: sorted by the server, a page at a time. */

import { get, type Column, type Rows } from "./api";
import { h } from "./dom";
import { value } from "./format";

const PAGE = 100;

/** The rows of a table as they are. */
export function plainTable(columns: Column[], rows: unknown[][], label: string): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, columns.map((one) => h("th", { scope: "col", class: one.kind }, one.name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((one, i) => h("td", { class: kindOf(columns[i], one) }, value(one, columns[i].kind)))))),
    ),
  );
}

function kindOf(column: Column, one: unknown): string {
  return column.kind === "text" && typeof one === "string" && /^-?\d+$/.test(one) ? "number" : column.kind;
}

export class Table {
  readonly element: HTMLElement;
  private offset = 0;
  private asked = 0;

  constructor(
    private readonly run: string,
    private sort: string,
    private descending: boolean,
    private readonly sorted: (sort: string, descending: boolean) => void,
    private readonly query?: string,
  ) {
    this.element = h("div", { class: "table" });
  }

  async load(): Promise<void> {
    const asked = ++this.asked;
    const wanted = new URLSearchParams({ offset: String(this.offset), limit: String(PAGE) });
    if (this.sort) wanted.set("sort", this.sort);
    if (this.sort && this.descending) wanted.set("descending", "true");
    if (this.query !== undefined) wanted.set("query", this.query);
    const found = await get<Rows>(`/api/runs/${this.run}/rows?${wanted}`);
    if (asked === this.asked) this.show(found);
  }

  private show(found: Rows): void {
    const focused = document.activeElement?.getAttribute("data-sort") ?? document.activeElement?.getAttribute("data-page");
    const heads = found.columns.map((one) => {
      const on = this.sort === one.name;
      const state = on ? (this.descending ? "descending" : "ascending") : "none";
      return h(
        "th",
        { scope: "col", class: one.kind, "aria-sort": state },
        h("button", { type: "button", "data-sort": one.name, onclick: () => this.by(one.name) }, one.name, h("i", { "aria-hidden": "true" }, on ? (this.descending ? " ↓" : " ↑") : "")),
      );
    });
    const body = found.page.map((row) => h("tr", {}, row.map((one, i) => h("td", { class: kindOf(found.columns[i], one) }, value(one, found.columns[i].kind)))));
    const last = Math.min(found.offset + PAGE, found.rows);
    const turn = (offset: number): void => {
      this.offset = offset;
      void this.load();
    };
    const pages =
      found.rows > PAGE
        ? h(
            "div",
            { class: "row" },
            h("button", { type: "button", "data-page": "back", disabled: this.offset === 0, onclick: () => turn(Math.max(0, this.offset - PAGE)) }, "Back"),
            h("span", { class: "faint" }, `${(found.offset + 1).toLocaleString("en-US")}–${last.toLocaleString("en-US")} of ${found.rows.toLocaleString("en-US")}`),
            h("button", { type: "button", "data-page": "on", disabled: last >= found.rows, onclick: () => turn(this.offset + PAGE) }, "On"),
          )
        : null;
    this.element.replaceChildren(
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows of the result" },
        h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)),
      ),
      ...(pages ? [pages] : []),
    );
    if (focused) this.element.querySelector<HTMLElement>(`[data-sort="${CSS.escape(focused)}"],[data-page="${CSS.escape(focused)}"]`)?.focus();
  }

  private by(name: string): void {
    this.descending = this.sort === name ? !this.descending : true;
    this.sort = name;
    this.offset = 0;
    this.sorted(this.sort, this.descending);
    void this.load();
  }
}
