/** Where a question is put: an editor, or the form of a funnel; what is wrong with it; and the button that runs it. */

import type { Fault, Look } from "./api";
import { choice, field, h } from "./dom";
import { Editor } from "./editor";
import { form } from "./funnel";
import { controls } from "./live";
import type { State } from "./state";

const SHARING = [
  { value: "auto", text: "what pays" },
  { value: "always", text: "all they can" },
  { value: "never", text: "nothing" },
];

interface Wiring {
  state: () => State;
  look: () => Look | null;
  words: Record<string, string[]>;
  change: () => void;
  run: () => void;
  cancel: () => void;
  pause: () => void;
}

export class Ask {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly holder: HTMLElement;
  private readonly form = h("div", {});
  private readonly faults = h("ul", { class: "faults" });
  private readonly button: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;
  private readonly wait: HTMLButtonElement;

  constructor(private readonly wiring: Wiring) {
    this.holder = h("div", { class: "editor" });
    const known = () => ({ words: wiring.words, look: wiring.look() });
    this.editor = new Editor(this.holder, "", known, (text) => this.typed(text), wiring.run);
    this.button = h("button", { type: "button", class: "primary", onclick: wiring.run }, "Run");
    this.stop = h("button", { type: "button", hidden: true, onclick: wiring.cancel }, "Cancel");
    this.wait = h("button", { type: "button", hidden: true, onclick: wiring.pause }, "Pause");
    this.element = h("div", { class: "asking" }, this.holder, this.form, h("div", { role: "status" }, this.faults), h("div", { class: "row" }, this.button, this.wait, this.stop));
  }

  private typed(text: string): void {
    const state = this.wiring.state();
    if (state.text === text) return;
    Object.assign(state, { text, ran: false, point: null });
    this.wiring.change();
  }

  focus(): void {
    if (this.holder.hidden) this.form.querySelector<HTMLElement>("input, select")?.focus();
    else this.editor.view.focus();
  }

  show(): void {
    const state = this.wiring.state();
    const funnel = state.mode === "funnel";
    this.holder.hidden = funnel;
    if (!funnel) this.editor.text = state.text;
    const changed = (): void => {
      state.ran = false;
      this.wiring.change();
    };
    if (funnel) this.form.replaceChildren(form(state, this.wiring.look(), changed));
    else if (state.mode === "live") this.form.replaceChildren(controls(state, changed));
    else if (state.mode === "workload") this.form.replaceChildren(field("Sharing", choice(SHARING, state.sharing, (value) => { state.sharing = value; changed(); })));
    else this.form.replaceChildren();
    this.button.textContent = state.mode === "live" ? "Start" : "Run";
    this.stop.textContent = state.mode === "live" ? "Stop" : "Cancel";
  }

  running(now: "no" | "yes" | "paused"): void {
    const state = this.wiring.state();
    const had = [this.button, this.stop, this.wait].includes(document.activeElement as HTMLButtonElement);
    this.button.hidden = now !== "no";
    this.stop.hidden = now === "no";
    this.wait.hidden = now === "no" || state.mode !== "live";
    this.wait.textContent = now === "paused" ? "Go on" : "Pause";
    if (had && document.activeElement === document.body) (now === "no" ? this.button : this.stop).focus();
  }

  complain(faults: Fault[]): void {
    this.editor.show(faults.filter((one) => one.start !== null));
    const items = faults.slice(0, 5).map((one) => {
      const words = [h("strong", {}, one.message), one.help ? h("span", {}, ` ${one.help}`) : "", ...one.notes.slice(0, 2).map((note) => h("span", { class: "faint" }, ` ${note}`))];
      const { start, end } = one;
      if (start === null) return h("li", {}, words);
      return h("li", {}, h("button", { type: "button", class: "link", onclick: () => this.editor.select(start, end ?? start + 1) }, words));
    });
    this.faults.replaceChildren(...items);
  }
}
