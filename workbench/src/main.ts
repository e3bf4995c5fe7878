/** The workbench: ask, see, watch. */

import "./style.css";
import { get, post, Refusal, type About, type Check, type Example, type Fault, type Look, type Mode } from "./api";
import { Ask } from "./ask";
import { Behind } from "./behind";
import { chooser, dataView, reading } from "./data";
import { choice, debounce, h, segments } from "./dom";
import { automaton, planOf, sharing } from "./meaning";
import { Results } from "./results";
import { fromHash, START, toHash, type State } from "./state";

const MODES: { value: Mode; text: string }[] = [
  { value: "query", text: "Query" },
  { value: "funnel", text: "Funnel" },
  { value: "workload", text: "Workload" },
  { value: "live", text: "Live" },
];

class Workbench {
  private state: State = fromHash(location.hash);
  private look: Look | null = null;
  private asked = 0;
  private view: "automaton" | "plan" | "data" = "automaton";
  private checked: Check | null = null;
  private stop: AbortController | null = null;

  private readonly modes = h("nav", { "aria-label": "What to do" });
  private readonly examples = h("div", { class: "examples" });
  private readonly data = h("div", {});
  private readonly meaning = h("div", { class: "pane" });
  private readonly views = h("div", {});
  private readonly engine = h("div", {});
  private readonly ask: Ask;
  private readonly results: Results;
  private readonly behind: Behind;
  private readonly checkSoon = debounce(250, () => void this.check());

  constructor(private readonly about: About) {
    this.behind = new Behind(this.state, () => this.remember());
    this.results = new Results({
      state: () => this.state,
      behind: this.behind,
      look: () => this.look,
      remember: () => this.remember(),
      open: (text) => this.open({ mode: "query", text }),
      failed: (faults) => this.ask.complain(faults),
      labels: () => this.checked,
      running: (running) => this.ask.running(running),
    });
    this.ask = new Ask({
      state: () => this.state,
      look: () => this.look,
      words: about.words,
      change: () => {
        this.remember();
        this.checkSoon();
      },
      run: () => void this.run(),
      cancel: () => void this.results.cancel(),
      pause: () => void this.results.pause(),
    });
    document.getElementById("app")!.replaceChildren(this.page());
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      event.preventDefault();
      this.ask.focus();
    });
    window.addEventListener("hashchange", () => {
      if (location.hash !== toHash(this.state)) void this.restore();
    });
    window.addEventListener("pagehide", () => this.results.leave());
    void this.restore();
  }

  private page(): HTMLElement {
    return h(
      "div",
      { class: "page" },
      h(
        "header",
        {},
        h("h1", {}, h("img", { src: "/assets/icon.svg", alt: "", width: 26, height: 26 }), "Sparkleene", h("span", {}, "workbench")),
        this.modes,
        h("div", { class: "row end" }, this.engine, theme()),
      ),
      h(
        "main",
        {},
        h("section", { class: "card", id: "ask", "aria-labelledby": "ask-title" }, h("h2", { id: "ask-title", class: "hidden" }, "Ask"), this.examples, this.data, this.ask.element),
        h("section", { class: "card", "aria-labelledby": "meaning-title" }, h("h2", { id: "meaning-title", class: "hidden" }, "What it means"), this.views, this.meaning),
        this.results.element,
        this.behind.element,
      ),
      h("footer", { class: "faint" }, `Sparkleene ${this.about.version}. Ctrl-Enter runs a query. Data stays on the server's machine.`),
    );
  }

  // ---- what the address says

  private remember(): void {
    const hash = toHash(this.state);
    if (hash !== location.hash) history.replaceState(null, "", hash === "#" ? location.pathname : hash);
  }

  private async restore(): Promise<void> {
    const fresh = !location.hash;
    this.state = fromHash(location.hash);
    if (fresh && !this.state.text) this.take(this.about.examples[0]);
    this.behind.state = this.state;
    const again = this.state.ran;
    await this.show();
    if (again && this.state.mode !== "live") await this.run(true);
  }

  private take(example: Example): void {
    const { mode, data, text = "", steps = [], by = [], within = "" } = example;
    Object.assign(this.state, structuredClone(START), { mode, data: { ...data }, text, steps, by, within, engine: this.state.engine });
  }

  /** Change what is asked, and show it. */
  private open(change: Partial<State>): void {
    if (change.mode) this.view = "automaton";
    Object.assign(this.state, { ran: false, point: null, value: "", sort: "" }, change);
    this.results.clear();
    this.behind.clear();
    void this.show();
  }

  // ---- showing

  private async show(): Promise<void> {
    const { state } = this;
    this.modes.replaceChildren(
      ...MODES.map((one) =>
        h("button", { type: "button", "aria-current": one.value === state.mode ? "page" : undefined, onclick: () => this.change(one.value) }, one.text),
      ),
    );
    this.engine.replaceChildren(
      ...(this.about.spark
        ? [segments("Where it runs", [{ value: "local", text: "Here", title: "In a process beside the server" }, { value: "spark", text: "Spark", title: "On Spark, which starts when it is first asked" }], state.engine, (value) => {
            state.engine = value as State["engine"];
            this.remember();
          })]
        : []),
    );
    this.showExamples();
    this.showViews();
    this.ask.show();
    await this.showData();
  }

  private change(mode: Mode): void {
    if (mode === this.state.mode) return;
    this.view = "automaton";
    const example = this.about.examples.find((one) => one.mode === mode);
    const keeps = (mode === "live" || mode === "query") && (this.state.mode === "live" || this.state.mode === "query");
    if (example && !keeps) {
      this.take(example);
      this.open({});
    } else this.open({ mode });
  }

  private showExamples(): void {
    const fitting = this.about.examples.filter((one) => one.mode === this.state.mode);
    const buttons = fitting.map((one) =>
      h("button", { type: "button", class: "chip", title: one.about, onclick: () => { this.take(one); this.open({}); } }, one.title),
    );
    this.examples.replaceChildren(h("span", { class: "faint" }, "Examples"), ...buttons);
  }

  private async showData(): Promise<void> {
    const asked = ++this.asked;
    const changed = (): void => {
      this.remember();
      this.results.clear();
      this.behind.clear();
      this.state.ran = false;
      void this.showData();
    };
    this.data.replaceChildren(chooser(this.about, this.state, changed));
    this.look = null;
    if (!this.state.data.name.startsWith("kafka:")) {
      try {
        const look = await post<Look>("/api/look", { data: this.state.data, options: this.state.options });
        if (asked !== this.asked) return;
        this.look = look;
        this.guess(look);
        const read = h("details", { class: "reading" }, h("summary", {}, `Times in ${look.time ?? "?"}, types in ${this.typeColumn() ?? "no column"}`), reading(look, this.state, changed));
        this.data.append(read);
      } catch (error) {
        if (asked !== this.asked) return;
        this.ask.complain(faultsOf(error));
      }
    }
    this.ask.show();
    this.remember();
    await this.check();
  }

  private typeColumn(): string | null {
    return "type" in this.state.options ? (this.state.options.type as string | null) : "type";
  }

  /** Take the columns that look like times and types, where they have other names than usual. */
  private guess(look: Look): void {
    const { options } = this.state;
    if (!("time" in options) && look.time !== null && look.time !== "time") this.state.options = { ...this.state.options, time: look.time };
    if (!("type" in options) && look.type !== "type") this.state.options = { ...this.state.options, type: look.type };
  }

  // ---- what it means

  private showViews(): void {
    const { mode } = this.state;
    const first = mode === "workload" ? "Sharing" : "Automaton";
    const options = [
      ...(mode === "funnel" ? [] : [{ value: "automaton", text: first }]),
      ...(mode === "funnel" || mode === "workload" ? [] : [{ value: "plan", text: "Plan" }]),
      { value: "data", text: "Data" },
    ];
    if (!options.some((one) => one.value === this.view)) this.view = options[0].value as typeof this.view;
    this.views.replaceChildren(
      segments("What to show", options, this.view, (value) => {
        this.view = value as typeof this.view;
        this.showMeaning();
      }),
    );
  }

  private showMeaning(): void {
    const good = this.checked;
    if (this.view === "data") this.meaning.replaceChildren(this.look ? dataView(this.look) : h("p", { class: "empty" }, "nothing is known of this data yet"));
    else if (good === null) this.meaning.replaceChildren(h("p", { class: "empty" }, "what the query means is shown here"));
    else if (good.parts) this.meaning.replaceChildren(sharing(good.parts, good.pictures ?? {}, good.plan ?? []));
    else this.meaning.replaceChildren(this.view === "plan" ? planOf(good.plan ?? []) : automaton(good));
  }

  private async check(): Promise<void> {
    const { state } = this;
    if (state.mode === "funnel") {
      this.checked = null;
      this.ask.complain([]);
      this.showMeaning();
      return;
    }
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    const kind = state.mode === "workload" ? "workload" : "query";
    try {
      const how = kind === "workload" ? { sharing: state.sharing } : {};
      const body = { kind, data: state.data, options: state.options, text: state.text, ...how };
      const found = await post<Check>("/api/check", body, stop.signal);
      this.ask.complain(state.text.trim() ? found.errors : []);
      if (!found.errors.length) this.checked = found;
    } catch (error) {
      if (stop.signal.aborted) return;
      this.ask.complain(faultsOf(error));
    }
    this.showMeaning();
  }

  private async run(again = false): Promise<void> {
    if (!again) this.state.point = null;
    this.state.ran = true;
    this.remember();
    await this.results.run();
  }
}

function faultsOf(error: unknown): Fault[] {
  if (error instanceof Refusal) return error.faults;
  throw error;
}

function theme(): HTMLElement {
  const root = document.documentElement;
  const options = [{ value: "", text: "System colours" }, { value: "light", text: "Light" }, { value: "dark", text: "Dark" }];
  return h(
    "div",
    { class: "theme" },
    choice(options, root.dataset.theme ?? "", (value) => {
      if (value) root.dataset.theme = value;
      else delete root.dataset.theme;
      try {
        localStorage.setItem("sparkleene-theme", value);
      } catch {
        // then it holds for this page
      }
    }, "Colours"),
  );
}

async function start(): Promise<void> {
  try {
    new Workbench(await get<About>("/api/about"));
  } catch (error) {
    const text = error instanceof Refusal ? error.message : String(error);
    document.getElementById("app")!.replaceChildren(h("main", {}, h("h1", {}, "Sparkleene"), h("p", { role: "alert" }, text)));
  }
}

void start();
