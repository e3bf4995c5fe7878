/** Trends on a line of time: events coloured by label, trends as arcs from each event to the next. */

import { h, s } from "./dom";
import { instant, number, ticks, value } from "./format";

export interface Found {
  where: string;
  total: number | string;
  events: { time: number[]; label: string[]; columns: Record<string, unknown[]> };
  labels: string[];
  count: number;
  is_time: boolean;
  trends: number[][];
  trend_labels: string[][];
}

const SIDE = 16;
const BOTTOM = 46;

export class Timeline {
  readonly element: HTMLElement;
  private readonly plot: HTMLElement;
  private readonly readout: HTMLElement;
  private readonly list: HTMLElement;
  private trend: number | null = null;
  private event: number | null = null;

  constructor(private readonly found: Found) {
    this.plot = h("div", {
      class: "plot timeline",
      tabindex: "0",
      role: "group",
      "aria-label": "Events on a line of time, trends as arcs; left and right choose an event, up and down a trend",
    });
    this.readout = h("p", { class: "readout", role: "status" });
    this.list = h("ol", { class: "trends" }, found.trends.map((trend, i) => this.item(trend, i)));
    const legend = h(
      "ul",
      { class: "legend" },
      found.labels.map((label, i) => h("li", {}, h("i", { class: `swatch c${i % 8}` }), label)),
    );
    this.element = h("div", { class: "chart" }, legend, this.plot, this.readout, this.list);
    this.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.plot.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.plot);
    this.say();
  }

  private color(label: string): string {
    const place = this.found.labels.indexOf(label);
    return place < 0 ? "none" : `c${place % 8}`;
  }

  private item(trend: number[], number: number): HTMLElement {
    const labels = this.found.trend_labels[number];
    const words = labels.slice(0, 24).map((label) => h("span", { class: `chip ${this.color(label)}` }, label));
    const { time } = this.found.events;
    const span = time[trend[trend.length - 1]] - time[trend[0]];
    const long = this.found.is_time ? `${number_of(span / 1000)} s` : number_of(span);
    const text = `${trend.length} event${trend.length === 1 ? "" : "s"}, ${long}`;
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "trend",
          "aria-pressed": "false",
          onclick: () => this.chooseTrend(this.trend === number ? null : number),
        },
        words,
        labels.length > 24 ? "… " : "",
        h("span", { class: "faint" }, text),
      ),
    );
  }

  private chooseTrend(number: number | null): void {
    this.trend = number;
    [...this.list.children].forEach((one, i) => one.firstElementChild?.setAttribute("aria-pressed", String(i === number)));
    this.draw();
    this.say();
  }

  private place(width: number): (time: number) => number {
    const { time } = this.found.events;
    const [low, high] = [time[0] ?? 0, time[time.length - 1] ?? 1];
    const span = high - low || 1;
    return (at) => SIDE + ((at - low) / span) * (width - 2 * SIDE);
  }

  draw(): void {
    const width = Math.max(240, this.plot.clientWidth);
    const { events, trends } = this.found;
    const height = width < 520 ? 230 : 280;
    if (!events.time.length) {
      this.plot.replaceChildren(h("p", { class: "empty" }, "no events"));
      return;
    }
    const base = height - BOTTOM;
    const x = this.place(width);
    const used = new Set(this.trend === null ? trends.flat() : trends[this.trend]);
    const svg: SVGElement[] = [s("line", { class: "grid", x1: 0, x2: width, y1: base, y2: base })];
    const [low, high] = [events.time[0], events.time[events.time.length - 1]];
    const { at, step } = ticks(low, high, Math.max(2, Math.floor(width / 110)), this.found.is_time);
    for (const one of high > low ? at : [low])
      svg.push(s("text", { class: "tick", x: x(one), y: height - 8, "text-anchor": "middle" }, this.found.is_time ? instant(one, step || 1000) : number(one)));
    const gaps = trends.flatMap((trend) => trend.slice(1).map((to, i) => x(events.time[to]) - x(events.time[trend[i]])));
    const widest = Math.max(1, ...gaps);
    trends.forEach((trend, k) => {
      const faint = this.trend !== null && this.trend !== k;
      const style = `arc c${k % 8}${faint ? " faint" : ""}${this.trend === k ? " strong" : ""}`;
      if (trend.length === 1) svg.push(s("circle", { class: style, cx: x(events.time[trend[0]]), cy: base, r: 9 }));
      let path = "";
      for (let i = 1; i < trend.length; i++) {
        const [from, to] = [x(events.time[trend[i - 1]]), x(events.time[trend[i]])];
        const up = 14 + (base - 28) * Math.sqrt((to - from) / widest) * Math.min(1, 0.35 + widest / width);
        path += `M${from.toFixed(1)},${base}C${from.toFixed(1)},${(base - up * 1.25).toFixed(1)} ${to.toFixed(1)},${(base - up * 1.25).toFixed(1)} ${to.toFixed(1)},${base}`;
      }
      if (path) svg.push(s("path", { class: style, d: path }));
    });
    const size = events.time.length > 400 ? 2.5 : events.time.length > 120 ? 3.5 : 5;
    events.time.forEach((time, i) => {
      const strong = used.has(i);
      svg.push(s("circle", { class: `event ${this.color(events.label[i])}${strong ? "" : " faint"}`, cx: x(time).toFixed(1), cy: base, r: strong ? size + 1 : size }));
    });
    if (this.event !== null) svg.push(s("circle", { class: "ring", cx: x(events.time[this.event]), cy: base, r: size + 5 }));
    this.plot.replaceChildren(s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, svg));
  }

  private hover(event: PointerEvent): void {
    const box = this.plot.getBoundingClientRect();
    const x = this.place(Math.max(240, this.plot.clientWidth));
    const want = event.clientX - box.left;
    let [best, least] = [-1, 12];
    this.found.events.time.forEach((time, i) => {
      const far = Math.abs(x(time) - want);
      if (far < least) [best, least] = [i, far];
    });
    if (best >= 0 && best !== this.event) this.chooseEvent(best);
  }

  private chooseEvent(event: number): void {
    this.event = event;
    this.draw();
    this.say();
  }

  private key(event: KeyboardEvent): void {
    const { time } = this.found.events;
    const all = this.trend === null ? time.map((_, i) => i) : this.found.trends[this.trend];
    const at = this.event === null ? -1 : all.indexOf(this.event);
    const count = this.found.trends.length;
    if (event.key === "ArrowRight") this.chooseEvent(all[Math.min(at + 1, all.length - 1)]);
    else if (event.key === "ArrowLeft") this.chooseEvent(all[Math.max(at - 1, 0)]);
    else if (event.key === "ArrowDown" && count) this.chooseTrend(((this.trend ?? -1) + 1) % count);
    else if (event.key === "ArrowUp" && count) this.chooseTrend(((this.trend ?? count) + count - 1) % count);
    else if (event.key === "Escape") this.chooseTrend(null);
    else return;
    event.preventDefault();
  }

  private say(): void {
    const { events, count } = this.found;
    if (this.event === null) {
      const shown = events.time.length < count ? `, ${events.time.length.toLocaleString("en-US")} of them drawn` : "";
      this.readout.textContent = `${count.toLocaleString("en-US")} events${shown}. Point at one to see it.`;
      return;
    }
    const i = this.event;
    const parts = Object.entries(events.columns).map(([name, column]) => `${name} ${value(column[i], name === "time" ? "time" : "text")}`);
    this.readout.textContent = `${events.label[i] ? `${events.label[i]}: ` : "in no trend: "}${parts.join(" · ")}`;
  }
}

function number_of(value: number): string {
  return number(Number(value.toPrecision(4)));
}
