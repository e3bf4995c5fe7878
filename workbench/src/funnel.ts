/** A funnel without a query: steps in a form, and how many come how far. */

import type { Look, Run } from "./api";
import { choice, field, h } from "./dom";
import { number, seconds } from "./format";
import type { State } from "./state";

export function form(state: State, look: Look | null, change: () => void): HTMLElement {
  const types = look?.type ? (look.values[look.type] ?? []) : [];
  const names = (look?.columns ?? []).map((one) => one.name);
  if (!state.steps.length) state.steps = types.slice(0, 2).length ? types.slice(0, 2) : ["", ""];
  if (!state.by.length && names.length) state.by = [names.find((one) => /user|customer|visitor|driver|patient|company|vehicle/i.test(one)) ?? names[names.length > 2 ? 2 : 0]];
  const list = h("datalist", { id: "types" }, types.map((one) => h("option", { value: one })));
  const steps = h("ol", { class: "steps" });
  const draw = (focus = -1): void => {
    steps.replaceChildren(
      ...state.steps.map((step, i) => {
        const input = h("input", {
          value: step, list: "types", "aria-label": `Step ${i + 1}`, spellcheck: "false",
          oninput: () => {
            state.steps = state.steps.map((one, k) => (k === i ? input.value : one));
            change();
          },
        });
        const remove = h("button", {
          type: "button", class: "quiet", "aria-label": `Remove step ${i + 1}`, disabled: state.steps.length < 2,
          onclick: () => {
            state.steps = state.steps.filter((_, k) => k !== i);
            change();
            draw(Math.max(0, i - 1));
          },
        }, "×");
        return h("li", {}, input, remove);
      }),
    );
    steps.querySelectorAll("input")[focus]?.focus();
  };
  draw();
  const text = (name: "within" | "every", label: string, hint: string): HTMLElement => {
    const input = h("input", { value: state[name], placeholder: hint, oninput: () => { state[name] = input.value.trim(); change(); } });
    return field(label, input);
  };
  const words = (name: "exclude", label: string, hint: string): HTMLElement => {
    const input = h("input", {
      value: state[name].join(", "), placeholder: hint,
      oninput: () => { state[name] = input.value.split(",").map((one) => one.trim()).filter(Boolean); change(); },
    });
    return field(label, input);
  };
  const columns = names.map((one) => ({ value: one, text: one }));
  return h(
    "div",
    { class: "funnel" },
    list,
    h("fieldset", {}, h("legend", {}, "Steps"), steps, h("button", { type: "button", onclick: () => { state.steps = [...state.steps, ""]; change(); draw(state.steps.length - 1); } }, "Add a step")),
    h(
      "div",
      { class: "row" },
      field("Users are told apart by", choice(columns, state.by[0] ?? "", (value) => { state.by = [value]; change(); })),
      text("within", "Within", "30 minutes"),
      text("every", "A funnel every", "all events"),
      field("Between steps", choice([{ value: "any", text: "anything may happen" }, { value: "next", text: "the next of each step" }, { value: "strict", text: "nothing may happen" }], state.between, (value) => { state.between = value; change(); })),
      words("exclude", "But never", "Error"),
      field("For each", choice([{ value: "", text: "all together" }, ...columns], state.breakdown[0] ?? "", (value) => { state.breakdown = value ? [value] : []; change(); })),
    ),
  );
}

export function body(state: State): Record<string, unknown> {
  const found: Record<string, unknown> = { kind: "funnel", data: state.data, options: state.options, engine: state.engine, steps: state.steps.map((one) => one.trim()).filter(Boolean), by: state.by, order: state.between };
  if (state.within) found.within = state.within;
  if (state.every) found.every = state.every;
  if (state.exclude.length) found.exclude = state.exclude;
  if (state.breakdown.length) found.breakdown = state.breakdown;
  return found;
}

/** A bar for each step; of several windows or groups, a funnel for each. */
export function picture(run: Run, open: (text: string) => void): HTMLElement {
  const { columns, all = [], breakdown = [], queries_text = {} } = run.result;
  const at = (name: string): number => columns.findIndex((one) => one.name === name);
  const keys = ["window_start", ...breakdown].map(at).filter((one) => one >= 0);
  const groups = new Map<string, unknown[][]>();
  for (const row of all) {
    const key = keys.map((one) => String(row[one] ?? "NULL").replace("T", " ").replace("+00:00", "")).join(", ");
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const shown = [...groups].slice(0, 24);
  const funnels = shown.map(([key, rows]) =>
    h(
      "section",
      { class: "funnelbars" },
      key ? h("h3", {}, key) : null,
      h(
        "ol",
        {},
        rows.map((row) => {
          const share = Number(row[at("share_of_first")] ?? 0);
          const before = row[at("share_of_previous")];
          const long = row[at("avg_time")];
          const name = String(row[at("name")]);
          const bar = h("i", { class: "fill" });
          bar.style.width = `${Math.max(0.4, share * 100)}%`;
          return h(
            "li",
            {},
            h("button", { type: "button", class: "link", title: "Open the query of this step", onclick: () => open(queries_text[name] ?? "") }, name),
            h("span", { class: "track" }, bar),
            h("strong", {}, number(Number(row[at("users")] ?? 0))),
            h("span", { class: "faint" }, `${(share * 100).toFixed(1)} %${typeof before === "number" && before < 1 ? `, ${(before * 100).toFixed(0)} % of the step before` : ""}${typeof long === "number" ? `, ${seconds(long)} on average` : ""}`),
          );
        }),
      ),
    ),
  );
  const more = groups.size > shown.length ? h("p", { class: "faint" }, `and ${groups.size - shown.length} more, in the table`) : null;
  return h("div", { class: "funnels" }, funnels, more);
}
