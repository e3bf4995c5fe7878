/** Behind a number: the events of a group and window, trends among them, or why there are none. */

import { Job, Refusal } from "./api";
import { h, segments } from "./dom";
import { named, number, value } from "./format";
import type { State } from "./state";
import { Timeline, type Found } from "./timeline";

type Point = NonNullable<State["point"]>;
interface Why {
  where: string;
  events: number;
  trends: number | string;
  steps: { pattern: string; events: number; fit: number; trends: number | string }[];
  stuck: number | null;
  obstacles: { kind: string; condition: string; events: number | null; nulls: number; trends: number | string }[];
}

const ORDERS = ["sample", "first", "last", "longest", "shortest"];

export class Behind {
  readonly element: HTMLElement;
  private readonly tools = h("div", { class: "row tools" });
  private readonly title = h("p", { class: "status", role: "status" });
  private readonly body = h("div", {});
  private job: Job | null = null;
  private point: Point | null = null;
  private what: "trends" | "why" = "trends";

  constructor(public state: State, private readonly remember: () => void) {
    this.element = h(
      "section",
      { class: "card wide", hidden: true, "aria-labelledby": "behind-title" },
      h("h2", { id: "behind-title" }, "Behind the number"),
      this.title,
      this.tools,
      this.body,
    );
  }

  clear(): void {
    void this.job?.cancel();
    this.job = null;
    this.element.hidden = true;
    this.body.replaceChildren();
  }

  async show(point: Point, what: "trends" | "why"): Promise<void> {
    [this.point, this.what] = [point, what];
    this.element.hidden = false;
    this.showTools();
    await this.ask();
  }

  private showTools(): void {
    const again = (): void => {
      this.remember();
      void this.ask();
    };
    const order = segments("Which trends", ORDERS.map((one) => ({ value: one, text: one })), this.what === "why" ? "" : this.state.order, (value) => {
      this.what = "trends";
      this.state.order = value;
      again();
    });
    const draw = h("button", { type: "button", onclick: () => { this.what = "trends"; this.state.order = "sample"; this.state.draw += 1; this.showTools(); again(); } }, "Draw again");
    const why = h("button", { type: "button", "aria-pressed": String(this.what === "why"), onclick: () => { this.what = "why"; this.showTools(); again(); } }, "Why so few?");
    this.tools.replaceChildren(order, draw, why);
  }

  private async ask(): Promise<void> {
    const { point, state, what } = this;
    if (point === null) return;
    void this.job?.cancel();
    const job = (this.job = new Job(() => undefined));
    const { data, options, text } = state;
    const common = { data, options: { ...options, numbers: "double" }, text, group: point.group, window: point.window };
    const body = what === "why" ? { kind: "why", ...common } : { kind: "trends", ...common, order: state.order, seed: state.draw, limit: 12 };
    try {
      const run = await job.run(body);
      if (this.job !== job || run.state === "cancelled") return;
      if (run.state === "failed") {
        this.title.textContent = run.result.errors?.map((one) => `${one.message}. ${one.help ?? ""}`).join(" ") ?? "it failed";
        this.body.replaceChildren();
      } else if (what === "why") this.showWhy(run.result as unknown as Why);
      else this.showTrends(run.result as unknown as Found);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.title.textContent = error.message;
    }
  }

  private where(text: string): string {
    const who = Object.keys(this.point?.group ?? {}).length ? named(this.point!.group) : "";
    return text.replaceAll("+00:00", "") || who || "all events";
  }

  private showTrends(found: Found): void {
    const many = value(found.total, "number");
    const which = { sample: "drawn at random, each as likely as any other" }[this.state.order] ?? `the ${this.state.order}`;
    const count = found.trends.length;
    this.title.textContent = `${this.where(found.where)}: ${count ? `${count} of ${many} trends, ${which}` : "no trends"}`;
    this.body.replaceChildren(new Timeline(found).element);
  }

  private showWhy(found: Why): void {
    const count = (one: number | string): string => (typeof one === "number" ? number(one) : value(one, "number"));
    this.title.textContent = `${this.where(found.where)}: ${Number(found.trends) ? `${count(found.trends)} trends` : "no trends"} in ${number(found.events)} events`;
    const steps = h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ["Step", "Events", "That fit", "Trends so far"].map((one, i) => h("th", { scope: "col", class: i ? "number" : "" }, one)))),
      h("tbody", {}, found.steps.map((one, i) => h("tr", { class: i === found.stuck ? "stuck" : "" }, h("th", { scope: "row" }, one.pattern), [number(one.events), number(one.fit), count(one.trends)].map((text) => h("td", { class: "number" }, text))))),
    );
    const stuck = found.stuck === null ? null : h("p", {}, h("strong", {}, `Nobody passed ${found.steps[found.stuck].pattern}.`));
    const type = found.obstacles.length === 1 && found.obstacles[0].kind === "type" ? h("p", {}, `${found.obstacles[0].condition}.`) : null;
    const rest = !type && found.obstacles.length
      ? h(
          "div",
          {},
          h("h3", {}, "Without one of the conditions there would be"),
          h("ul", { class: "obstacles" }, found.obstacles.map((one) => h("li", {}, h("strong", {}, count(one.trends)), ` without `, h("code", {}, one.condition), one.events === null ? "" : h("span", { class: "faint" }, ` not true for ${number(one.events)} events${one.nulls ? `, ${number(one.nulls)} of them NULL` : ""}`)))),
        )
      : null;
    const parts = [h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps" }, steps), stuck, type, rest];
    this.body.replaceChildren(h("div", { class: "why" }, parts));
  }
}
