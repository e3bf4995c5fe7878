/** A chart: a line for each group over windows, or a bar for each; of numbers that may be beyond doubles. */

import type { Line, Lines } from "./api";
import { h, s } from "./dom";
import { decimal, instant, named, number, power, scientific, ticks } from "./format";

export interface Point {
  line: number;
  place: number;
}
export interface ChartOptions {
  scale: "auto" | "linear" | "log";
  chosen: (line: Line, place: number) => void;
  height?: number;
  label?: string;
  hint?: string;
}

const LEFT = 66;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 30;
const DOTS = 1500;

export function wantsLog(lines: Lines): boolean {
  const logs = lines.series.flatMap((one) => one.log.filter((log): log is number => log !== null));
  const negative = lines.series.some((one) => one.y.some((y) => y !== null && y < 0));
  if (negative || !logs.length) return false;
  let [low, high] = [Infinity, -Infinity];
  for (const log of logs) [low, high] = [Math.min(low, log), Math.max(high, log)];
  return high > 15 || high - low > 3;
}

export function describe(line: Line, place: number): string {
  const y = line.y[place];
  const log = line.log[place];
  const exact = line.exact?.[place];
  if (exact) return decimal(exact);
  return y !== null ? number(y) : log !== null ? scientific(1, log) : "no value";
}

export class Chart {
  readonly element: HTMLElement;
  private readonly plot: HTMLElement;
  private readonly readout: HTMLElement;
  private at: Point | null = null;
  private marked: Point | null = null;
  private xs: (x: number) => number = () => 0;
  private ys: (line: Line, place: number) => number | null = () => null;
  private cursor: SVGElement | null = null;
  private bars = false;

  constructor(private lines: Lines, private options: ChartOptions) {
    this.plot = h("div", {
      class: "plot",
      tabindex: "0",
      role: "group",
      "aria-label": `${options.label ?? "Chart"}; arrow keys choose a point${options.hint ? ", Enter looks behind it" : ""}`,
    });
    this.readout = h("p", { class: "readout", role: "status" });
    this.element = h("div", { class: "chart" }, this.legend(), this.plot, this.readout);
    this.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.plot.addEventListener("pointerleave", () => this.point(this.marked));
    this.plot.addEventListener("click", (event) => {
      this.hover(event);
      this.choose();
    });
    this.plot.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  update(lines: Lines, scale: ChartOptions["scale"]): void {
    this.lines = lines;
    this.options.scale = scale;
    this.element.firstElementChild?.replaceWith(this.legend());
    this.draw();
  }

  /** Mark the point that is looked behind. */
  mark(group: Record<string, unknown>, start: string | number | null): void {
    const line = this.lines.series.findIndex((one) => JSON.stringify(one.group) === JSON.stringify(group));
    const place = line < 0 ? -1 : start === null ? 0 : this.lines.series[line].start.indexOf(start);
    this.marked = line >= 0 && place >= 0 ? { line, place } : null;
    this.point(this.marked);
  }

  private get log(): boolean {
    return this.options.scale === "log" || (this.options.scale === "auto" && wantsLog(this.lines));
  }

  private legend(): HTMLElement {
    const items = this.lines.series.map((one, i) => h("li", {}, h("i", { class: `swatch c${i % 8}` }), named(one.group)));
    const more = this.lines.left_out ? h("li", { class: "faint" }, `and ${this.lines.left_out} more`) : null;
    const shown = this.lines.axis !== null && (this.lines.series.length > 1 || this.lines.groups.length > 0);
    return h("ul", { class: "legend", hidden: !shown }, items, more);
  }

  draw(): void {
    const width = Math.max(240, this.plot.clientWidth);
    this.bars = this.lines.axis === null;
    if (!this.lines.series.length) {
      this.plot.replaceChildren(h("p", { class: "empty" }, "no rows"));
      return;
    }
    const svg = this.bars ? this.drawBars(width) : this.drawLines(width);
    this.cursor = s("g", { class: "cursor" });
    svg.append(this.cursor);
    this.plot.replaceChildren(svg);
    this.point(this.at ?? this.marked);
  }

  private scales(height: number): { svg: SVGElement[]; y: (line: Line, place: number) => number | null; width: number } {
    const { series } = this.lines;
    const width = Math.max(240, this.plot.clientWidth);
    const bottom = height - BOTTOM;
    const grid: SVGElement[] = [];
    const tick = (y: number, text: string): void => {
      grid.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
      grid.push(s("text", { class: "tick", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text));
    };
    if (this.log) {
      let [low, high] = [Infinity, -Infinity];
      let zeros = false;
      for (const one of series)
        one.log.forEach((log, i) => {
          if (log !== null) [low, high] = [Math.min(low, log), Math.max(high, log)];
          else if (one.y[i] === 0) zeros = true;
        });
      if (!Number.isFinite(low)) [low, high] = [0, 1];
      [low, high] = [Math.floor(low), Math.max(Math.ceil(high), Math.floor(low) + 1)];
      const floor = bottom - (zeros ? 22 : 0);
      const scale = (log: number): number => floor - ((log - low) / (high - low)) * (floor - TOP);
      const step = Math.max(1, Math.ceil((high - low) / 6));
      for (let at = low; at <= high; at += step) tick(scale(at), at >= 0 && at <= 4 ? number(10 ** at) : power(at));
      if (zeros) tick(bottom, "0");
      return { svg: grid, width, y: (one, i) => (one.log[i] !== null ? scale(one.log[i]!) : one.y[i] === 0 ? bottom : null) };
    }
    let [low, high] = [0, -Infinity];
    for (const one of series) for (const y of one.y) if (y !== null) [low, high] = [Math.min(low, y), Math.max(high, y)];
    if (!Number.isFinite(high)) high = 1;
    if (high === low) high = low + 1;
    const { at } = ticks(low, high, 5);
    const last = at[at.length - 1];
    const next = at.length > 1 ? last + (at[1] - at[0]) : high;
    const end = high > last + (next - last) * 0.02 ? next : last;
    const scale = (y: number): number => bottom - ((y - low) / (end - low)) * (bottom - TOP);
    for (const one of [...at, ...(end > last ? [end] : [])]) tick(scale(one), short(one));
    return { svg: grid, width, y: (one, i) => (one.y[i] === null ? null : scale(one.y[i]!)) };
  }

  private drawLines(width: number): SVGElement {
    const height = this.options.height ?? (width < 520 ? 260 : 320);
    const { series, axis } = this.lines;
    const { svg, y } = this.scales(height);
    let [low, high] = [Infinity, -Infinity];
    for (const one of series) for (const x of one.x) [low, high] = [Math.min(low, x), Math.max(high, x)];
    if (low === high) [low, high] = [low - 1, high + 1];
    const xs = (this.xs = (x) => LEFT + ((x - low) / (high - low)) * (width - LEFT - RIGHT));
    this.ys = y;
    const { at, step } = ticks(low, high, Math.max(2, Math.floor((width - LEFT) / 90)), axis?.time);
    for (const one of at) {
      svg.push(s("text", { class: "tick", x: xs(one), y: height - 10, "text-anchor": "middle" }, axis?.time ? instant(one, step) : number(one)));
      svg.push(s("line", { class: "grid faint", x1: xs(one), x2: xs(one), y1: height - BOTTOM, y2: height - BOTTOM + 4 }));
    }
    const many = series.reduce((sum, one) => sum + one.x.length, 0) > DOTS;
    series.forEach((one, k) => {
      let path = "";
      let open = false;
      one.x.forEach((x, i) => {
        const place = y(one, i);
        if (place !== null) path += `${open ? "L" : "M"}${xs(x).toFixed(1)},${place.toFixed(1)}`;
        open = place !== null;
      });
      svg.push(s("path", { class: `line c${k % 8}`, d: path }));
      if (!many)
        one.x.forEach((x, i) => {
          const place = y(one, i);
          if (place !== null) svg.push(s("circle", { class: `dot c${k % 8}`, cx: xs(x).toFixed(1), cy: place.toFixed(1), r: one.x.length > 120 ? 2 : 3 }));
        });
    });
    return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, svg);
  }

  private drawBars(width: number): SVGElement {
    const { series } = this.lines;
    const row = 30;
    const names = Math.min(180, Math.max(...series.map((one) => named(one.group).length * 7.2)) + 10);
    const height = series.length * row + 6;
    const logs = series.map((one) => one.log[0]);
    const low = Math.min(...logs.map((one) => one ?? Infinity));
    const high = Math.max(...logs.map((one) => one ?? -Infinity));
    const most = Math.max(...series.map((one) => Math.abs(one.y[0] ?? 0)), 1e-300);
    const room = width - names - 110;
    const long = (one: Line): number => {
      if (this.log) return one.log[0] === null ? 0 : high === low ? 1 : 0.06 + (0.94 * (one.log[0] - low)) / (high - low);
      return one.y[0] === null ? 0 : Math.abs(one.y[0]) / most;
    };
    const svg = series.flatMap((one, i) => [
      s("text", { class: "tick name", x: names - 6, y: i * row + 20, "text-anchor": "end" }, cut(named(one.group), 24)),
      s("rect", { class: "bar c0", x: names, y: i * row + 6, width: Math.max(1, room * long(one)).toFixed(1), height: row - 10, rx: 3 }),
      s("text", { class: "tick strong", x: names + Math.max(1, room * long(one)) + 8, y: i * row + 20 }, describe(one, 0)),
    ]);
    this.ys = (line) => this.lines.series.indexOf(line) * row + 16;
    this.xs = () => names + 4;
    return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, svg);
  }

  private hover(event: MouseEvent): void {
    const box = this.plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best: Point | null = null;
    let least = Infinity;
    this.lines.series.forEach((one, line) => {
      const count = this.bars ? 1 : one.x.length;
      for (let place = 0; place < count; place++) {
        const py = this.ys(one, place);
        if (py === null) continue;
        const dx = this.bars ? 0 : this.xs(one.x[place]) - x;
        const far = dx * dx + (py - y) ** 2;
        if (far < least) [best, least] = [{ line, place }, far];
      }
    });
    this.point(best);
  }

  private key(event: KeyboardEvent): void {
    const { series } = this.lines;
    if (!series.length) return;
    const at = this.at ?? { line: 0, place: -1 };
    const step = (line: number, place: number): void => {
      const next = (line + series.length) % series.length;
      const count = this.bars ? 1 : series[next].x.length;
      this.point({ line: next, place: Math.min(Math.max(place, 0), count - 1) });
    };
    if (event.key === "Enter" || event.key === " ") this.choose();
    else if (event.key === "ArrowRight") step(this.bars ? at.line + 1 : at.line, at.place + 1);
    else if (event.key === "ArrowLeft") step(this.bars ? at.line - 1 : at.line, at.place - 1);
    else if (event.key === "ArrowDown") step(at.line + 1, at.place);
    else if (event.key === "ArrowUp") step(at.line - 1, at.place);
    else if (event.key === "Home") step(at.line, 0);
    else if (event.key === "End") step(at.line, Infinity);
    else return;
    event.preventDefault();
  }

  private choose(): void {
    if (this.at === null) return;
    this.marked = this.at;
    this.options.chosen(this.lines.series[this.at.line], this.at.place);
  }

  /** Show where the cursor is, and what is there. */
  private point(at: Point | null): void {
    this.at = at;
    const line = at === null ? undefined : this.lines.series[at.line];
    if (at === null || line === undefined || this.cursor === null || at.place >= Math.max(1, line.y.length)) {
      this.cursor?.replaceChildren();
      this.readout.textContent = this.lines.series.length ? (this.options.hint ?? "") : "";
      return;
    }
    const y = this.ys(line, at.place);
    if (y !== null && !this.bars) {
      const x = this.xs(line.x[at.place]);
      this.cursor.replaceChildren(s("circle", { class: `ring c${at.line % 8}`, cx: x, cy: y, r: 7 }));
    } else if (y !== null) {
      this.cursor.replaceChildren(s("circle", { class: "ring c0", cx: this.xs(0), cy: y, r: 5 }));
    }
    const when = this.bars ? "" : this.lines.axis?.time ? `, window from ${instant(line.x[at.place])}` : `, window from ${number(line.x[at.place])}`;
    const who = this.lines.groups.length ? `${named(line.group)}${when}` : when.replace(", w", "W");
    this.readout.textContent = `${who}${who ? ": " : ""}${this.lines.value} ${describe(line, at.place)}`;
  }
}

function short(value: number): string {
  const size = Math.abs(value);
  for (const [unit, word] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]] as const)
    if (size >= unit && size < 1e15) return `${number(Number((value / (word === "k" ? 1e3 : unit)).toPrecision(6)))} ${word}`;
  return number(Number(value.toPrecision(6)));
}

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
