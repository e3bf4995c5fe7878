/** A query over a stream, watched: what closes, how fast, how late. */

import { Job, type Column, type Line, type Lines, type Run, type Told } from "./api";
import { Chart } from "./chart";
import { field, h } from "./dom";
import { bytes, number, time } from "./format";
import { plainTable } from "./table";
import type { State } from "./state";

const KEPT = 400; // points of a line
const SHOWN = 60; // rows of the table
const GROUPS = 8;

interface Stats {
  rows: number;
  of: number | null;
  rate: number;
  arriving: number;
  watermark: string | null;
  state: number;
  late: number;
  windows: number;
}

export function controls(state: State, change: () => void): HTMLElement {
  const input = (name: "speed" | "delay" | "shuffle", label: string, low: number, high: number, hint: string): HTMLElement => {
    const one = h("input", {
      type: "number", min: low, max: high, value: state[name], title: hint,
      onchange: () => {
        const given = Number(one.value);
        state[name] = Math.min(high, Math.max(low, Number.isFinite(given) ? given : low));
        one.value = String(state[name]);
        change();
      },
    });
    return field(label, one, hint);
  };
  return h(
    "div",
    { class: "row" },
    input("speed", "Speed, times real time", 1, 100_000, "300 plays an hour of events in 12 seconds"),
    input("delay", "Watermark waits, s", 0, 86_400, "How long to wait for events that come late"),
    input("shuffle", "Events come up to … s late", 0, 86_400, "Out of order by up to so much"),
  );
}

export class Live {
  readonly element: HTMLElement;
  readonly job: Job;
  private readonly tiles: HTMLElement;
  private readonly table: HTMLElement;
  private readonly lines = new Map<string, Line>();
  private chart: Chart | null = null;
  private readonly holder: HTMLElement;
  private columns: Column[] = [];
  private recent: unknown[][] = [];
  private waiting = false;

  constructor(private readonly values: string[], private readonly groups: string[], private readonly told: (message: Told) => void) {
    this.tiles = h("dl", { class: "tiles", "aria-live": "off" });
    this.holder = h("div", {});
    this.table = h("div", {});
    this.element = h("div", { class: "live" }, this.tiles, this.holder, this.table);
    this.job = new Job((message) => this.take(message));
    this.showStats({ rows: 0, of: null, rate: 0, arriving: 0, watermark: null, state: 0, late: 0, windows: 0 });
  }

  run(body: unknown): Promise<Run> {
    return this.job.run(body);
  }

  private take(message: Told): void {
    this.told(message);
    if (message.stats) this.showStats(message.stats as Stats);
    if (message.rows) this.add(message.columns as Column[], message.rows as unknown[][]);
  }

  private showStats(stats: Stats): void {
    const shown: [string, string][] = [
      ["events", number(stats.rows) + (stats.of === null ? "" : ` of ${number(stats.of)}`)],
      ["rows a second", number(Math.round(stats.arriving))],
      ["watermark", stats.watermark === null ? "none yet" : time(stats.watermark)],
      ["state", bytes(stats.state)],
      ["late rows", number(stats.late)],
      ["rows of closed windows", number(stats.windows)],
    ];
    this.tiles.replaceChildren(...shown.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
  }

  private add(columns: Column[], rows: unknown[][]): void {
    this.columns = columns;
    const at = (name: string): number => columns.findIndex((one) => one.name === name);
    const [start, value] = [at("window_start"), at(this.values[0])];
    for (const row of rows) {
      const group = Object.fromEntries(this.groups.map((name) => [name, row[at(name)]]));
      const key = JSON.stringify(group);
      const line = this.lines.get(key) ?? { group, x: [], start: [], y: [], log: [] };
      this.lines.set(key, line);
      const y = Number(row[value]);
      const when = String(row[start]);
      line.x.push(columns[start].kind === "time" ? Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(when) ? when : `${when}Z`) : Number(when));
      line.start.push(when);
      line.y.push(Number.isFinite(y) ? y : null);
      line.log.push(y > 0 && Number.isFinite(y) ? Math.log10(y) : null);
      if (line.x.length > KEPT) for (const one of [line.x, line.start, line.y, line.log]) one.shift();
    }
    this.recent = [...rows].reverse().concat(this.recent).slice(0, SHOWN);
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => this.show());
    }
  }

  private show(): void {
    this.waiting = false;
    const all = [...this.lines.values()];
    const top = (line: Line): number => Math.max(...line.log.map((one) => one ?? -1));
    const kept = new Set([...all].sort((one, other) => top(other) - top(one)).slice(0, GROUPS));
    const series = all.filter((one) => kept.has(one));
    const lines: Lines = { value: this.values[0], groups: this.groups, series, left_out: all.length - series.length, axis: { time: true, zone: "UTC" } };
    if (this.chart === null) {
      this.chart = new Chart(lines, { scale: "auto", chosen: () => undefined, height: 260, label: "Windows as they close" });
      this.holder.replaceChildren(this.chart.element);
    } else this.chart.update(lines, "auto");
    this.table.replaceChildren(plainTable(this.columns, this.recent, "Rows of the windows that closed last"));
  }
}
