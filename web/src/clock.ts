/**
 * Times as the viewer reads them: local, tabular, with the exact recorded value one hover away.
 *
 * A clock in a browser proves nothing, so nothing here decides anything: a time is shown, a deadline is never judged.
 */
import { html, nothing, type TemplateResult } from "lit";
import { AsyncDirective, directive } from "lit/async-directive.js";
import { words } from "./words.ts";

const two = (value: number) => String(value).padStart(2, "0");

/** Reads an RFC 3339 time, or answers null for what is none. */
export function moment(iso: string | null | undefined): Date | null {
  if (!iso) return null;
  const read = new Date(iso);
  return Number.isNaN(read.getTime()) ? null : read;
}

/** The local time of day in hours, minutes and seconds. */
export const timeOfDay = (at: Date): string => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

/** The local time of day in milliseconds, for the evidence rail. */
export const exactTimeOfDay = (at: Date): string => `${timeOfDay(at)}.${String(at.getMilliseconds()).padStart(3, "0")}`;

/** Tells whether two moments fall on the same local day. */
export const sameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString();

/** The page's language; plain English sets the day before the month, as records do. */
function language(): string {
  const declared = typeof document === "undefined" ? "" : document.documentElement.lang;
  return declared === "" || declared === "en" ? "en-GB" : declared;
}

/** The local day in words, with the year. */
export const dayInWords = (at: Date): string =>
  new Intl.DateTimeFormat(language(), { day: "numeric", month: "long", year: "numeric" }).format(at);

/** A time that can stand alone: the day is named unless it is today. */
export function spokenTime(at: Date, now: Date): string {
  if (sameDay(at, now)) return timeOfDay(at);
  const shape: Intl.DateTimeFormatOptions = { day: "numeric", month: "short" };
  if (at.getFullYear() !== now.getFullYear()) shape.year = "numeric";
  return `${new Intl.DateTimeFormat(language(), shape).format(at)} ${timeOfDay(at)}`;
}

/** Draws a time element; what cannot be read as a time is shown as it came. */
export function timeElement(iso: string | null | undefined): TemplateResult | typeof nothing {
  if (!iso) return nothing;
  const at = moment(iso);
  return html`<time datetime=${iso} title=${iso}>${at ? spokenTime(at, new Date()) : iso}</time>`;
}

const timeToken = /⟦(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z)⟧/g;

/** A sentence as plain text, its time tokens as the exact times that they hold. */
export const withoutTokens = (text: string): string => text.replace(timeToken, "$1");

/**
 * Draws a sentence of ours with each time token (`⟦2026-11-30T12:01:36.411Z⟧`) in it as the viewer's local time.
 *
 * Foreign text cannot hold a token, so a date inside a value is never touched.
 */
export function prose(text: string): unknown {
  const found = [...text.matchAll(timeToken)];
  if (found.length === 0) return text;
  const parts: unknown[] = [];
  let from = 0;
  for (const match of found) {
    parts.push(text.slice(from, match.index), timeElement(match[1]));
    from = match.index + match[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** A span of time in plain words: `38 s`, `2 min 05 s`, `1 h 02 min`. */
export function spanInWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

/** One timer for all running clocks of a page; it stops when nobody listens. */
class SecondHand {
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setInterval> | undefined;

  add(listener: () => void): void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => this.#listeners.forEach((tell) => tell()), 1000);
  }

  remove(listener: () => void): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

const secondHand = new SecondHand();

class ElapsedDirective extends AsyncDirective {
  #since = 0;
  readonly #tick = () => this.setValue(this.#text());

  override render(since: string): unknown {
    this.#since = moment(since)?.getTime() ?? Number.NaN;
    if (Number.isNaN(this.#since)) return nothing;
    if (this.isConnected) secondHand.add(this.#tick);
    return this.#text();
  }

  protected override disconnected(): void { secondHand.remove(this.#tick); }
  protected override reconnected(): void { secondHand.add(this.#tick); }

  #text(): unknown {
    return html`<span class="elapsed" title=${words.since}>${spanInWords(Date.now() - this.#since)}</span>`;
  }
}

/** Shows how long ago a moment was, once a second; put it into the page only while something runs. */
export const elapsed = directive(ElapsedDirective);
