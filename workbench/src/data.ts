/** The data: which, how its columns are read, and what is in it. */

import type { About, Look } from "./api";
import { choice, field, h, s } from "./dom";
import { cut } from "./chart";
import { time } from "./format";
import { plainTable } from "./table";
import type { State } from "./state";

const KINDS: [string, string][] = [["generator", "Generated"], ["file", "Files"], ["folder", "Folders"], ["topic", "Kafka"]];

export function chooser(about: About, state: State, change: () => void): HTMLElement {
  const select = h("select", {
    id: "data",
    onchange: () => {
      const made = select.value.startsWith("generate:");
      state.data = made ? { name: select.value, events: state.data.events ?? 20_000, seed: state.data.seed ?? 0 } : { name: select.value };
      state.options = {};
      change();
    },
  });
  for (const [kind, text] of KINDS) {
    const found = about.datasets.filter((one) => one.kind === kind);
    if (found.length)
      select.append(h("optgroup", { label: text }, found.map((one) => h("option", { value: one.name }, `${one.name.replace(/^\w+:/, "")}: ${one.about}`))));
  }
  if (!about.datasets.some((one) => one.name === state.data.name)) select.append(h("option", { value: state.data.name }, state.data.name));
  select.value = state.data.name;
  const made = state.data.name.startsWith("generate:");
  const whole = (label: string, name: "events" | "seed", low: number, high: number): HTMLElement => {
    const input = h("input", {
      type: "number", min: low, max: high, step: 1, value: state.data[name] ?? low,
      onchange: () => {
        const given = Math.round(Number(input.value));
        input.value = String(Math.min(high, Math.max(low, Number.isFinite(given) ? given : low)));
        state.data = { ...state.data, [name]: Number(input.value) };
        change();
      },
    });
    return field(label, input);
  };
  return h(
    "div",
    { class: "row data" },
    field("Data", select),
    made && whole("Events", "events", 1, about.limits.events),
    made && whole("Seed", "seed", 0, 2 ** 31),
  );
}

/** Which columns are times and types, and how numbers are kept. */
export function reading(look: Look, state: State, change: () => void): HTMLElement {
  const columns = look.columns.map((one) => ({ value: one.name, text: one.name }));
  const set = (name: string, value: unknown, plain: unknown): void => {
    const { [name]: _, ...rest } = state.options;
    state.options = value === plain ? rest : { ...rest, [name]: value };
    change();
  };
  const current = (name: string, plain: string): string => String(name in state.options ? (state.options[name] ?? "") : plain);
  return h(
    "div",
    { class: "row" },
    field("Times", choice(columns.filter((one) => ["time", "number", "text", "other"].includes(look.columns.find((c) => c.name === one.value)!.kind)), current("time", look.time ?? "time"), (value) => set("time", value, "time"))),
    field("Types", choice([{ value: "", text: "one type" }, ...columns], current("type", look.type ?? "type"), (value) => set("type", value || null, "type"))),
    field(
      "Numbers",
      choice([{ value: "double", text: "double" }, { value: "long", text: "64-bit integers" }, { value: "exact", text: "exact, any length" }], current("numbers", "double"), (value) => set("numbers", value, "double")),
    ),
  );
}

export function bars(look: Look): HTMLElement | null {
  if (look.bars === null) return null;
  const names = Object.keys(look.bars.series);
  const count = look.bars.series[names[0]].length;
  const sums = Array.from({ length: count }, (_, i) => names.reduce((sum, name) => sum + look.bars!.series[name][i], 0));
  const most = Math.max(...sums, 1);
  const [width, height] = [600, 90];
  const shapes: SVGElement[] = [];
  for (let i = 0; i < count; i++) {
    let y = height;
    names.forEach((name, k) => {
      const tall = (look.bars!.series[name][i] / most) * (height - 2);
      y -= tall;
      if (tall > 0) shapes.push(s("rect", { class: `bar c${k % 8}`, x: (i * width) / count + 0.5, y: y.toFixed(2), width: width / count - 1, height: tall.toFixed(2) }));
    });
  }
  const ends = [look.bars.from, look.bars.to].map((one) => (typeof one === "string" ? time(one) : String(one)));
  return h(
    "figure",
    { class: "bars" },
    h("ul", { class: "legend" }, names.map((name, k) => h("li", {}, h("i", { class: `swatch c${k % 8}` }), cut(name || "events", 24)))),
    s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `Events over time by type, at most ${most} in a bar` }, shapes),
    h("figcaption", { class: "faint" }, h("span", {}, ends[0]), h("span", {}, "events over time"), h("span", {}, ends[1])),
  );
}

export function dataView(look: Look): HTMLElement {
  return h(
    "div",
    { class: "dataview" },
    h("p", {}, h("strong", {}, look.rows === null ? "An unknown number of" : look.rows.toLocaleString("en-US")), " events, ", h("strong", {}, look.columns.length), " columns"),
    bars(look),
    h("ul", { class: "columns" }, look.columns.map((one) => h("li", {}, h("code", {}, one.name), h("span", { class: "faint" }, ` ${one.type}`), one.name === look.time ? h("em", {}, "time") : one.name === look.type ? h("em", {}, "type") : ""))),
    h("h3", {}, "First rows"),
    plainTable(look.columns, look.first, "First rows"),
  );
}
