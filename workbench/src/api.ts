/** What the server is asked, and what it answers. */

export interface Data {
  name: string;
  events?: number;
  seed?: number;
}
export interface Column {
  name: string;
  type: string;
  kind: "time" | "number" | "text" | "boolean" | "nested" | "other";
}
export interface Fault {
  code: string;
  message: string;
  start: number | null;
  end: number | null;
  notes: string[];
  help: string | null;
}
export interface Section {
  title: string;
  lines: string[];
}
export interface Dataset {
  name: string;
  kind: string;
  about: string;
}
export interface Example {
  title: string;
  about: string;
  mode: Mode;
  data: Data;
  text?: string;
  steps?: string[];
  by?: string[];
  within?: string;
}
export type Mode = "query" | "funnel" | "workload" | "live";
export interface About {
  version: string;
  datasets: Dataset[];
  examples: Example[];
  words: Record<string, string[]>;
  spark: boolean;
  limits: { seconds: number; rows: number; events: number; runs: number };
}
export interface Look {
  columns: Column[];
  rows: number | null;
  time: string | null;
  type: string | null;
  first: unknown[][];
  values: Record<string, string[]>;
  bars: { from: unknown; to: unknown; series: Record<string, number[]> } | null;
}
export interface Part {
  queries: string[];
  states: number;
  apart: number;
  types: Record<string, string[]>;
}
export interface Check {
  errors: Fault[];
  errors_of?: string;
  svg?: string;
  plan?: Section[];
  labels?: { label: string; type: string }[];
  parts?: Part[];
  pictures?: Record<string, string>;
}
export interface Shape {
  values: string[];
  groups: string[];
  columns: (Column | string)[];
}
export interface Result {
  rows: number;
  columns: Column[];
  values: string[];
  groups: string[];
  keys?: string[];
  notes: string[];
  queries?: Record<string, Shape>;
  stats?: { text: string; types: string[]; bursts: number; shared: number; rows: number; shared_rows: number }[] | null;
  parts?: Part[];
  breakdown?: string[];
  queries_text?: Record<string, string>;
  all?: unknown[][];
  errors?: Fault[];
  [name: string]: unknown;
}
export interface Run {
  id: string;
  kind: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  paused: boolean;
  seconds: number;
  result: Result;
}
export interface Line {
  group: Record<string, unknown>;
  x: number[];
  start: (string | number)[];
  y: (number | null)[];
  log: (number | null)[];
  exact?: (string | null)[];
}
export interface Lines {
  value: string;
  groups: string[];
  series: Line[];
  left_out: number;
  axis: { time: boolean; zone: string } | null;
}
export interface Rows {
  rows: number;
  offset: number;
  columns: Column[];
  page: unknown[][];
}

export class Refusal extends Error {
  constructor(readonly faults: Fault[]) {
    super(faults.map((one) => one.message).join("; "));
  }
}

const LOST: Fault = {
  code: "lost", message: "the server does not answer", start: null, end: null, notes: [],
  help: "is `sparkleene serve` still running?",
};

async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const options: RequestInit = { method, signal, credentials: "same-origin" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  let answer: Response;
  try {
    answer = await fetch(path, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal([LOST]);
  }
  const found = await answer.json();
  if (!answer.ok) throw new Refusal(found.errors ?? [LOST]);
  return found as T;
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => ask<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  ask<T>("POST", path, body, signal);

export type Told = Record<string, unknown>;

/** A run: started, followed to its end, and cancelled if need be. */
export class Job {
  private events: EventSource | null = null;
  private stopped = false;
  id: string | null = null;

  constructor(private readonly tell: (message: Told) => void) {}

  async run(body: unknown): Promise<Run> {
    const begun = await post<Run>("/api/runs", body);
    this.id = begun.id;
    if (this.stopped) void this.cancel();
    return new Promise((resolve, reject) => {
      const events = (this.events = new EventSource(`/api/runs/${begun.id}/events`));
      events.onmessage = (event) => this.tell(JSON.parse(event.data));
      events.addEventListener("end", (event) => {
        events.close();
        resolve(JSON.parse((event as MessageEvent).data));
      });
      events.onerror = () => {
        if (events.readyState === EventSource.CLOSED) reject(new Refusal([LOST]));
      };
    });
  }

  async cancel(): Promise<void> {
    this.stopped = true;
    if (this.id !== null) await ask("DELETE", `/api/runs/${this.id}`).catch(() => undefined);
  }

  async pause(paused: boolean): Promise<void> {
    await post(`/api/runs/${this.id}/pause`, { paused });
  }

  close(): void {
    this.events?.close();
  }
}
