/** What a query means: its automaton, its plan in words, and what several queries share. */

import type { Check, Part, Section } from "./api";
import { h } from "./dom";

/** A picture of the server, without styles of its own: the page has them, in its colours. */
export function picture(text: string): SVGElement | null {
  const found = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (found.nodeName !== "svg") return null;
  found.querySelectorAll("style, script, foreignObject").forEach((one) => one.remove());
  for (const one of [found, ...found.querySelectorAll("*")]) {
    for (const { name } of [...one.attributes]) if (name === "style" || name.startsWith("on")) one.removeAttribute(name);
  }
  const title = found.querySelector("title")?.textContent ?? "automaton";
  found.setAttribute("aria-label", title);
  return document.importNode(found, true) as unknown as SVGElement;
}

const SHORT = ["semantics", "trends", "time", "memory", "kind", "rows", "numbers"];

/** The lines of a plan that matter first, as words; all of it below. */
export function planOf(plan: Section[]): HTMLElement {
  const of = (title: string): string[] => plan.find((one) => one.title.startsWith(title))?.lines ?? [];
  const facts: [string, string][] = [];
  for (const title of ["Matching", "Window", "Result", "Cost"])
    for (const line of of(title)) {
      const [, name = "", text = ""] = /^(\S+)\s{2,}(.*)$/.exec(line) ?? [];
      if (SHORT.includes(name)) facts.push([name === "kind" ? "window" : name, text]);
    }
  const keys = of("Sub-streams").map((line) => line.trim().split(/\s{2,}/)[0]).filter((one) => one && !/^none/.test(one));
  facts.splice(2, 0, ["keys", keys.length ? `${keys.join(", ")}: rows of different values are never in one trend` : "none: all rows are one stream"]);
  const stored = of("Granularity").map((line) => line.trim().replace(/\s+/g, " "));
  const kept = plan.find((one) => one.title.startsWith("Granularity"))?.title.replace("Granularity: ", "") ?? "";
  facts.splice(3, 0, ["stored", [kept, ...stored].filter(Boolean).join("; ")]);
  return h(
    "div",
    { class: "plan" },
    h("dl", {}, facts.filter(([, text]) => text).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    h(
      "details",
      {},
      h("summary", {}, "The whole plan"),
      plan.filter((one) => one.title !== "Query").map((one) => [h("h3", {}, one.title), h("pre", { tabindex: "0", role: "region", "aria-label": one.title }, one.lines.join("\n"))]),
    ),
  );
}

export function automaton(check: Check): HTMLElement {
  const svg = check.svg ? picture(check.svg) : null;
  return h("div", { class: "automaton scroll", tabindex: "0", role: "region", "aria-label": "Automaton" }, svg);
}

/** What queries share: those evaluated together in one box, and which types each of them reads. */
export function sharing(parts: Part[], pictures: Record<string, string>, plan: Section[]): HTMLElement {
  const boxes = parts.map((part) => {
    const shared = part.queries.length > 1;
    const types = Object.entries(part.types).sort(([, one], [, other]) => other.length - one.length);
    return h(
      "section",
      { class: `share${shared ? " together" : ""}` },
      h("h3", {}, shared ? `Together: ${part.queries.length} queries in one machine` : `Alone: ${part.queries[0]}`),
      h("p", { class: "faint" }, shared ? `${part.states} states instead of ${part.apart}` : `${part.states} states`),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who reads which types" },
        h(
          "table",
          { class: "grid" },
          h("thead", {}, h("tr", {}, h("td", {}), types.map(([type, users]) => h("th", { scope: "col", class: users.length > 1 ? "shared" : "" }, type)))),
          h(
            "tbody",
            {},
            part.queries.map((name) =>
              h("tr", {}, h("th", { scope: "row" }, name), types.map(([, users]) => h("td", {}, users.includes(name) ? h("i", { class: users.length > 1 ? "mark shared" : "mark", role: "img", "aria-label": users.length > 1 ? "shared" : "its own" }) : ""))),
            ),
          ),
        ),
      ),
    );
  });
  const drawn = Object.entries(pictures).map(([name, svg]) => [h("h3", {}, name), h("div", { class: "automaton scroll", tabindex: "0", role: "region", "aria-label": `Automaton of ${name}` }, picture(svg))]);
  return h(
    "div",
    { class: "plan" },
    boxes,
    h("details", {}, h("summary", {}, "What that is expected to save"), h("pre", { tabindex: "0", role: "region", "aria-label": "Sharing" }, plan.map((one) => [one.title, ...one.lines.map((line) => `  ${line}`)].join("\n")).join("\n"))),
    h("details", {}, h("summary", {}, "The automata"), drawn),
  );
}
