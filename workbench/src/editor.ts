/** The editor of queries: colours, errors at their places, and completion from the chosen data. */

import {
  autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type Completion, type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Fault, Look } from "./api";

export interface Known {
  words: Record<string, string[]>;
  look: Look | null;
}

const CLAUSE = /^(return|agg|pattern|semantics|where|group[- ]?by|within|slide|having|order by|limit)\b/i;
const WORD = /^(seq|not|or|and|as|in|is|between|null|true|false|like|desc|asc|session|from|to|max)\b/i;
const UNIT = /^(ms|milliseconds?|sec|seconds?|min|minutes?|hours?|days?|weeks?|months?|quarters?|years?|events)\b/i;
const SEMANTICS = /^(skip-till-any-match|skip-till-next-match|contiguous( maximal)?)\b/i;
const CALL = /^[a-z_]+(?=\s*\()/i;

const language = StreamLanguage.define<{ comment: boolean }>({
  name: "sparkleene",
  startState: () => ({ comment: false }),
  token(stream, state) {
    if (state.comment) {
      if (stream.match(/^.*?\*\//)) state.comment = false;
      else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/\*/)) {
      state.comment = true;
      return "comment";
    }
    if (stream.match(/^(--|#).*/)) return "comment";
    if (stream.match(/^'([^']|'')*'?/) || stream.match(/^"([^"]|"")*"?/)) return "string";
    if (stream.match(/^`([^`]|``)*`?/)) return "variableName";
    if (stream.match(/^\d+(\.\d+)?(e[+-]?\d+)?/i)) return "number";
    if (stream.match(SEMANTICS)) return "atom";
    if (stream.match(CLAUSE) || stream.match(WORD)) return "keyword";
    if (stream.match(UNIT)) return "unit";
    if (stream.match(CALL)) return "variableName.function";
    if (stream.match(/^\.\w+/)) return "propertyName";
    if (stream.match(/^[^\W\d]\w*/u)) return "variableName";
    stream.next();
    return "operator";
  },
  tokenTable: {},
});

function clauseAt(text: string): string {
  const found = [...text.matchAll(/\b(RETURN|PATTERN|SEMANTICS|WHERE|GROUP[- ]?BY|WITHIN|SLIDE|HAVING|ORDER BY|LIMIT)\b/gi)];
  return found.length ? found[found.length - 1][1].toUpperCase().replace(/GROUP.?BY/, "GROUP-BY") : "";
}

/** The labels of a pattern, by the words that stand beside each other in it. */
export function labelsOf(text: string): string[] {
  const [, pattern = ""] = /\bPATTERN\b([\s\S]*?)(?:\b(?:SEMANTICS|WHERE|GROUP[- ]?BY|WITHIN|HAVING|ORDER BY)\b|$)/i.exec(text) ?? [];
  const words = pattern.matchAll(/\b(?!SEQ\b|NOT\b|OR\b|AND\b)([^\W\d]\w*)(?:\s+(?!OR\b|AND\b)([^\W\d]\w*))?/giu);
  return [...new Set([...words].map((one) => one[2] ?? one[1]))];
}

function quote(name: string): string {
  return /^[^\W\d]\w*$/u.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

export function complete(context: CompletionContext, known: Known): CompletionResult | null {
  const text = context.state.doc.toString();
  const before = text.slice(0, context.pos);
  const columns = known.look?.columns ?? [];
  const attribute = (): Completion[] =>
    columns.map((one) => ({ label: quote(one.name), type: "property", detail: one.type, boost: 2 }));
  const value = context.matchBefore(/([^\W\d]\w*)\s*(?:=|!=|<>|IN\s*\()\s*'[^'\n]*/iu);
  if (value) {
    const [, column = ""] = /([^\W\d]\w*)\s*(?:=|!=|<>|IN)/iu.exec(value.text) ?? [];
    const values = known.look?.values[column] ?? [];
    const from = value.from + value.text.lastIndexOf("'") + 1;
    return { from, options: values.map((one) => ({ label: one.replaceAll("'", "''"), type: "text" })), validFor: /^[^']*$/ };
  }
  const dotted = context.matchBefore(/[\w`)]+\.\w*/u);
  if (dotted && !/^\d/.test(dotted.text)) {
    return { from: dotted.from + dotted.text.indexOf(".") + 1, options: attribute(), validFor: /^\w*$/ };
  }
  const word = context.matchBefore(/[^\W\d][\w-]*/u);
  if (!word && !context.explicit) return null;
  const clause = clauseAt(before);
  const list = (names: string[] | undefined, type: string, boost = 0, suffix = ""): Completion[] =>
    (names ?? []).map((one) => ({ label: one, type, boost, apply: one + suffix }));
  const { words } = known;
  const types = known.look?.type ? list(known.look.values[known.look.type]?.map(quote), "type", 3) : [];
  const labels = list(labelsOf(text), "variable", 1);
  const options: Completion[] = [...list(words.clauses, "keyword", clause ? 0 : 3)];
  if (clause === "PATTERN") options.push(...types, ...list(["SEQ", "NOT", "OR", "AND"], "keyword", 2));
  else if (clause === "SEMANTICS") options.push(...list(words.semantics, "constant", 4));
  else if (clause === "WITHIN" || clause === "SLIDE") options.push(...list([...words.units, "SESSION", "FROM"], "constant", 3));
  else if (clause) {
    options.push(...labels, ...attribute(), ...list(words.words, "keyword"), ...list(words.functions, "function"));
    if (clause !== "WHERE") options.push(...list(words.aggregates, "function", 1));
  }
  return { from: word ? word.from : context.pos, options, validFor: /^[\w-]*$/ };
}

export class Editor {
  readonly view: EditorView;

  constructor(parent: HTMLElement, text: string, known: () => Known, change: (text: string) => void, run: () => void) {
    const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false", autocapitalize: "off" }),
          EditorView.lineWrapping,
          lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(),
          language, syntaxHighlighting(classHighlighter),
          placeholder("RETURN COUNT(*) PATTERN SEQ(A+, B)"),
          autocompletion({ override: [(context) => complete(context, known())], icons: false }),
          keymap.of([
            { key: "Mod-Enter", run: () => (run(), true) },
            ...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap,
          ]),
          EditorView.updateListener.of((update) => update.docChanged && change(update.state.doc.toString())),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    if (text !== this.text) this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Show what is wrong; offsets count characters as Python does. */
  show(faults: Fault[]): void {
    const text = this.text;
    const most = text.length;
    const found: Diagnostic[] = faults.map((one) => {
      const from = Math.min(units(text, one.start ?? 0), most);
      const to = Math.min(Math.max(units(text, one.end ?? 0), from + 1), most);
      return { from, to, severity: "error", message: one.help ? `${one.message}\n${one.help}` : one.message };
    });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  select(start: number, end: number): void {
    const text = this.text;
    this.view.dispatch({ selection: { anchor: units(text, start), head: units(text, end) }, scrollIntoView: true });
    this.view.focus();
  }
}

/** Turn a count of characters into one of the units that JavaScript counts in. */
export function units(text: string, characters: number): number {
  if (!/[\ud800-\udfff]/.test(text)) return characters;
  return [...text].slice(0, characters).join("").length;
}
