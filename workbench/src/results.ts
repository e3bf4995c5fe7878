/** What came out: a chart for each group, a table, files to take away; or a stream while it runs. */

import { get, Job, Refusal, type Check, type Fault, type Line, type Lines, type Look, type Run, type Told } from "./api";
import type { Behind } from "./behind";
import { Chart } from "./chart";
import { choice, field, h, segments } from "./dom";
import { seconds } from "./format";
import * as funnel from "./funnel";
import { Live } from "./live";
import type { State } from "./state";
import { Table } from "./table";

interface Wiring {
  state: () => State;
  look: () => Look | null;
  labels: () => Check | null;
  behind: Behind;
  remember: () => void;
  open: (text: string) => void;
  failed: (faults: Fault[]) => void;
  running: (now: "no" | "yes" | "paused") => void;
}

export class Results {
  readonly element: HTMLElement;
  private readonly bar = h("div", { class: "row tools" });
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly meter = h("progress", { hidden: true, "aria-label": "Progress" });
  private readonly body = h("div", { class: "result" });
  private job: Job | null = null;
  private live: Live | null = null;
  private paused = false;
  private done: Run | null = null;
  private timer = 0;

  constructor(private readonly wiring: Wiring) {
    this.element = h(
      "section",
      { class: "card wide", hidden: true, "aria-labelledby": "result-title" },
      h("h2", { id: "result-title" }, "Result"),
      h("div", { class: "row" }, this.status, this.meter),
      this.bar,
      this.body,
    );
  }

  clear(): void {
    void this.cancel();
    this.done = null;
    this.element.hidden = true;
    this.bar.replaceChildren();
    this.body.replaceChildren();
  }

  leave(): void {
    this.job?.close();
  }

  async cancel(): Promise<void> {
    await this.job?.cancel();
  }

  async pause(): Promise<void> {
    if (this.job === null || this.live === null) return;
    await this.job.pause(!this.paused);
    this.paused = !this.paused;
    this.wiring.running(this.paused ? "paused" : "yes");
    this.say(this.paused ? "paused" : "going on");
  }

  private say(text: string): void {
    this.status.textContent = text;
  }

  async run(): Promise<void> {
    await this.cancel();
    const state = this.wiring.state();
    this.element.hidden = false;
    if (state.mode === "live") this.startLive();
    else this.live = null;
    const body = this.request(state);
    const began = performance.now();
    let phase = "waiting for a process";
    const tell = (message: Told): void => {
      if (typeof message.phase === "string") phase = message.phase;
      if (message.state === "running") phase = "running";
      const { done, of } = message as { done?: number; of?: number };
      if (of) Object.assign(this.meter, { max: of, value: done ?? 0 });
    };
    const job = (this.job = this.live ? this.live.job : new Job(tell));
    this.wiring.running("yes");
    this.meter.hidden = this.live !== null;
    this.meter.removeAttribute("value");
    clearInterval(this.timer);
    const tick = (): void => this.say(`${phase} … ${seconds((performance.now() - began) / 1000)}`);
    if (this.live === null) this.timer = window.setInterval(tick, 200);
    try {
      const run = await job.run(body);
      if (this.job === job) await this.end(run, state);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (this.job === job) {
        this.say(error.message);
        this.wiring.failed(error.faults);
      }
    } finally {
      if (this.job === job) {
        clearInterval(this.timer);
        this.meter.hidden = true;
        this.job = null;
        this.paused = false;
        this.wiring.running("no");
      }
    }
  }

  private request(state: State): Record<string, unknown> {
    const { mode, data, options, text, engine } = state;
    if (mode === "funnel") return funnel.body(state);
    if (mode === "workload") return { kind: "workload", data, options, text, engine, sharing: state.sharing };
    if (mode === "live") return { kind: "live", data, options, text, engine, speed: state.speed, delay: state.delay, shuffle: state.shuffle };
    return { kind: "query", data, options, text, engine };
  }

  private startLive(): void {
    const known = this.wiring.labels() as (Check & { values?: string[]; groups?: string[] }) | null;
    let phase = "starting";
    this.live = new Live(known?.values ?? ["count"], known?.groups ?? [], (message) => {
      if (typeof message.phase === "string") phase = message.phase;
      if (!this.paused) this.say(message.stats ? "windows come as they close" : `${phase} …`);
    });
    this.bar.replaceChildren();
    this.body.replaceChildren(this.live.element);
    this.say("starting …");
  }

  private async end(run: Run, state: State): Promise<void> {
    clearInterval(this.timer);
    this.meter.hidden = true;
    if (run.state === "cancelled") {
      this.say(state.mode === "live" ? "stopped" : "cancelled");
      return;
    }
    if (run.state === "failed") {
      const faults = run.result.errors ?? [];
      this.say(faults[0]?.message ?? "it failed");
      this.wiring.failed(faults);
      return;
    }
    if (state.mode === "live") {
      this.say("the stream has ended; windows that are still open were not sent");
      return;
    }
    this.done = run;
    const { rows, notes } = run.result;
    this.say(`${rows.toLocaleString("en-US")} row${rows === 1 ? "" : "s"} in ${seconds(run.seconds)}${notes.length ? `; ${notes.join("; ")}` : ""}`);
    await this.show();
    const { point } = state;
    if (state.mode === "query" && (point !== null || rows === 0)) await this.wiring.behind.show(point ?? { group: {}, window: null }, rows === 0 ? "why" : "trends");
    else if (state.mode !== "query" || rows) this.wiring.behind.clear();
  }

  private async show(): Promise<void> {
    const state = this.wiring.state();
    const run = this.done;
    if (run === null) return;
    this.showTools(run, state);
    if (state.view === "table" || !run.result.rows) {
      await this.showTable(run, state);
      return;
    }
    if (state.mode === "funnel") this.body.replaceChildren(funnel.picture(run, this.wiring.open));
    else if (state.mode === "workload") await this.showWorkload(run, state);
    else {
      const chart = await this.chart(run, state, undefined);
      this.body.replaceChildren(chart.element);
      if (state.point) chart.mark(state.point.group, state.point.window);
    }
  }

  private showTools(run: Run, state: State): void {
    const { values } = run.result;
    const change = (): void => {
      this.wiring.remember();
      void this.show();
    };
    const drawn = state.mode === "query" && state.view === "chart" && run.result.rows > 0;
    if (state.mode === "query" && !values.includes(state.value)) state.value = values[0];
    const tools: (HTMLElement | false)[] = [
      segments("How to show it", [{ value: "chart", text: "Chart" }, { value: "table", text: "Table" }], state.view, (value) => {
        state.view = value as State["view"];
        change();
      }),
      drawn && values.length > 1 && field("Value", choice(values.map((one) => ({ value: one, text: one })), state.value, (value) => {
        state.value = value;
        change();
      })),
      state.view === "chart" && state.mode !== "funnel" && field("Scale", choice([{ value: "auto", text: "as it fits" }, { value: "linear", text: "linear" }, { value: "log", text: "log" }], state.scale, (value) => {
        state.scale = value as State["scale"];
        change();
      })),
      h("span", { class: "end row" },
        h("a", { class: "button", href: `/api/runs/${run.id}/result.csv`, download: "result.csv" }, "CSV"),
        h("a", { class: "button", href: `/api/runs/${run.id}/result.parquet`, download: "result.parquet" }, "Parquet")),
    ];
    const focused = this.bar.contains(document.activeElement) ? [...this.bar.querySelectorAll("button, select")].indexOf(document.activeElement!) : -1;
    this.bar.replaceChildren(...tools.filter((one): one is HTMLElement => one !== false));
    if (focused >= 0) this.bar.querySelectorAll<HTMLElement>("button, select")[focused]?.focus();
  }

  private async showTable(run: Run, state: State): Promise<void> {
    const known = run.result.columns.some((one) => one.name === state.sort);
    const table = new Table(run.id, known ? state.sort : "", state.descending, (sort, descending) => {
      Object.assign(state, { sort, descending });
      this.wiring.remember();
    });
    await table.load();
    this.body.replaceChildren(table.element);
  }

  private async chart(run: Run, state: State, query: string | undefined): Promise<Chart> {
    const asked = new URLSearchParams();
    if (query !== undefined) asked.set("query", query);
    else if (state.value) asked.set("value", state.value);
    const lines = await get<Lines>(`/api/runs/${run.id}/chart?${asked}`);
    const chosen = (line: Line, place: number): void => {
      state.point = { group: line.group, window: lines.axis ? line.start[place] : null };
      this.wiring.remember();
      void this.wiring.behind.show(state.point, line.y[place] === 0 ? "why" : "trends");
    };
    const { scale } = state;
    if (query !== undefined) return new Chart(lines, { scale, chosen: () => undefined, label: `Chart of ${query}`, height: 200 });
    return new Chart(lines, { scale, chosen, label: `Chart of ${lines.value}`, hint: "Choose a point to look behind its number." });
  }

  private async showWorkload(run: Run, state: State): Promise<void> {
    const names = Object.keys(run.result.queries ?? {}).slice(0, 24);
    const charts = await Promise.all(names.map((name) => this.chart(run, state, name)));
    const stats = run.result.stats?.length
      ? h("details", { open: true }, h("summary", {}, "What was shared"), h("ul", { class: "stats" }, run.result.stats.map((one) => h("li", {}, one.text))))
      : null;
    this.body.replaceChildren(h("div", { class: "many" }, charts.map((one, i) => h("section", {}, h("h3", {}, names[i]), one.element))), ...(stats ? [stats] : []));
  }
}
