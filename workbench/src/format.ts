/** Numbers and times as people read them. */

const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export function power(exponent: number): string {
  const digits = String(Math.abs(exponent)).replace(/\d/g, (one) => SUPER[Number(one)]);
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/** A number of any size: as it is while it is short, else with a power of ten. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return scientific(Math.sign(value), Math.log10(size));
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replace("-", "−");
  return value.toLocaleString("en-US", { maximumSignificantDigits: size >= 1000 ? 8 : 6 }).replace("-", "−");
}

export function scientific(sign: number, log: number): string {
  let exponent = Math.floor(log + 1e-12);
  let mantissa = 10 ** (log - exponent);
  if (mantissa >= 9.995) [mantissa, exponent] = [1, exponent + 1];
  const text = mantissa.toFixed(2).replace(/\.?0+$/, "");
  return `${sign < 0 ? "−" : ""}${text} · ${power(exponent)}`;
}

/** The digits of an exact number, shortened in the middle. */
export function decimal(text: string): string {
  if (!/^-?\d{16,}$/.test(text)) return text.replace(/\B(?=(\d{3})+(?!\d))/g, text.includes(".") ? "" : ",");
  const digits = text.replace("-", "");
  const log = Math.log10(Number(`${digits[0]}.${digits.slice(1, 16)}`)) + digits.length - 1;
  return digits.length <= 30 ? text : scientific(text.startsWith("-") ? -1 : 1, log);
}

const pad = (value: number): string => String(value).padStart(2, "0");

/** Milliseconds as a date and time of UTC. */
export function instant(ms: number, step = 0): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const day = `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
  const clock = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}`;
  if (step >= 86_400_000) return day;
  if (step >= 60_000) return clock === "00:00" ? day.slice(5) : clock;
  const seconds = `${clock}:${pad(at.getUTCSeconds())}`;
  const rest = at.getUTCMilliseconds();
  if (step > 0) return step < 1000 ? `${seconds}.${String(rest).padStart(3, "0")}` : seconds;
  return `${day} ${seconds}${rest ? `.${String(rest).padStart(3, "0")}` : ""}`;
}

/** A time as the server writes it, without what is zero. */
export function time(text: string): string {
  return text
    .replace("T", " ")
    .replace(/(\+00:00|Z)$/, "")
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
}

export function value(one: unknown, kind: string): string {
  if (one === null || one === undefined) return "–";
  if (kind === "time" && typeof one === "string") return time(one);
  if (typeof one === "number") return number(one);
  if (one === "Infinity") return "∞";
  if (one === "-Infinity") return "−∞";
  if (kind === "number" && typeof one === "string") return decimal(one);
  if (typeof one === "object") return JSON.stringify(one);
  return /^-?\d{16,}$/.test(String(one)) ? decimal(String(one)) : String(one);
}

export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let place = 0;
  while (size >= 1000 && place < 3) [size, place] = [size / 1000, place + 1];
  return `${size < 10 && place ? size.toFixed(1) : Math.round(size)} ${units[place]}`;
}

export function seconds(one: number): string {
  if (one < 60) return `${one < 10 ? one.toFixed(1) : Math.round(one)} s`;
  if (one < 3600) return `${Math.floor(one / 60)} min ${Math.round(one % 60)} s`;
  return `${Math.floor(one / 3600)} h ${Math.round((one % 3600) / 60)} min`;
}

export function named(group: Record<string, unknown>): string {
  const names = Object.entries(group);
  return names.map(([, one]) => (one === null ? "NULL" : String(one))).join(", ") || "all";
}

/** Steps that people count in, in milliseconds. */
const TIMES = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3,
  3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3, 1209600e3, 2592000e3, 7776000e3, 31536000e3,
];

export function ticks(low: number, high: number, most: number, times = false): { at: number[]; step: number } {
  const span = high - low || 1;
  let step: number;
  if (times && span / most < TIMES[TIMES.length - 1]) step = TIMES.find((one) => span / one <= most) ?? span;
  else {
    const rough = span / most;
    const base = 10 ** Math.floor(Math.log10(rough));
    step = [1, 2, 5, 10].map((one) => one * base).find((one) => one >= rough * 0.999) ?? base;
  }
  const at: number[] = [];
  for (let one = Math.ceil(low / step - 1e-9) * step; one <= high + step * 1e-9 && at.length < 100; one += step) at.push(one);
  return { at, step };
}
