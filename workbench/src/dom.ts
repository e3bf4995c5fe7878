/** Elements, made in one expression. */

type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

function add(parent: Element, child: Child): void {
  if (Array.isArray(child)) child.forEach((one) => add(parent, one));
  else if (child instanceof Node) parent.append(child);
  else if (child !== null && child !== undefined && child !== false) parent.append(String(child));
}

function set(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "value") (element as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  add(element, children);
  set(element, props);
  return element;
}

export function s(name: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, name) as SVGElement;
  add(element, children);
  set(element, props);
  return element;
}

/** A labelled control. */
export function field(label: string, control: HTMLElement, hint?: string): HTMLElement {
  return h("label", { class: "field", title: hint }, h("span", {}, label), control);
}

export function choice(
  options: { value: string; text: string }[],
  value: string,
  change: (value: string) => void,
  label?: string,
): HTMLSelectElement {
  const select = h(
    "select",
    { "aria-label": label, onchange: () => change(select.value) },
    options.map((one) => h("option", { value: one.value }, one.text)),
  );
  select.value = value;
  return select;
}

/** Buttons of which one is pressed. */
export function segments(
  label: string,
  options: { value: string; text: string; title?: string }[],
  value: string,
  change: (value: string) => void,
): HTMLElement {
  const buttons = options.map((one) =>
    h(
      "button",
      {
        type: "button",
        title: one.title,
        "data-value": one.value,
        "aria-pressed": String(one.value === value),
        onclick: () => {
          for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === one.value));
          change(one.value);
        },
      },
      one.text,
    ),
  );
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

export function debounce<A extends unknown[]>(wait: number, work: (...args: A) => void): (...args: A) => void {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => work(...args), wait);
  };
}
