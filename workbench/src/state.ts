/** What the page shows, kept in its address, so that a link shows the same. */

import type { Data, Mode } from "./api";

export interface State {
  mode: Mode;
  data: Data;
  text: string;
  options: Record<string, unknown>;
  engine: "local" | "spark";
  view: "chart" | "table";
  value: string;
  scale: "auto" | "linear" | "log";
  sort: string;
  descending: boolean;
  ran: boolean;
  point: { group: Record<string, unknown>; window: string | number | null } | null;
  order: string;
  draw: number;
  steps: string[];
  by: string[];
  within: string;
  every: string;
  between: string;
  exclude: string[];
  breakdown: string[];
  sharing: string;
  speed: number;
  delay: number;
  shuffle: number;
}

export const START: State = {
  mode: "query", data: { name: "generate:stock", events: 20_000, seed: 0 }, text: "", options: {}, engine: "local",
  view: "chart", value: "", scale: "auto", sort: "", descending: false, ran: false, point: null, order: "sample", draw: 0,
  steps: [], by: [], within: "", every: "", between: "any", exclude: [], breakdown: [], sharing: "auto",
  speed: 300, delay: 10, shuffle: 5,
};

const MODES = ["query", "funnel", "workload", "live"];

/** Write what differs from the start. */
export function toHash(state: State): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    const plain = START[name as keyof State];
    if (JSON.stringify(value) === JSON.stringify(plain)) continue;
    out.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  return `#${out}`;
}

/** Read an address; what does not fit is left as it is at the start. */
export function fromHash(hash: string): State {
  const state: State = structuredClone(START);
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in START)) continue;
    const plain = START[name as keyof State];
    try {
      const value: unknown = typeof plain === "string" ? text : JSON.parse(text);
      if (typeof plain !== typeof value || Array.isArray(plain) !== Array.isArray(value)) continue;
      if (Array.isArray(value) && !value.every((one) => typeof one === "string")) continue;
      Object.assign(state, { [name]: value });
    } catch {
      continue;
    }
  }
  if (!MODES.includes(state.mode)) state.mode = "query";
  if (typeof state.data?.name !== "string") state.data = START.data;
  if (state.point !== null && typeof state.point?.group !== "object") state.point = null;
  return state;
}
