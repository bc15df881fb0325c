/** Draws the row of controls, the form of the one that is open, the reasons of those that are off, and the deadline. */
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { live } from "lit/directives/live.js";
import type { Control, Deadline, Field } from "../model.ts";
import { markGlyph } from "../glyphs.ts";
import { prose } from "../clock.ts";
import { words } from "../words.ts";
import { controlKey, type Asking } from "./asking.ts";

type Drawn = TemplateResult | typeof nothing;

/** Draws everything a person can do here, and until when. */
export function controlsView(asking: Asking, controls: readonly Control[], deadline: Deadline | null | undefined): Drawn {
  if (controls.length === 0 && !deadline) return nothing;
  const opened = controls.find((control) => controlKey(control) === asking.open);
  return html`<div class="act" part="controls">
    ${repeat(controls, controlKey, (control, index) => button(asking, control, index))}
    ${deadline ? html`<p class="until" part="deadline" title=${deadline.at ?? nothing}>${prose(deadline.text)}</p>` : nothing}
    ${requested(asking, controls)}
    ${reasons(controls, deadline ? "below" : "beside")}
  </div>
  ${opened ? form(asking, opened) : nothing}`;
}

function button(asking: Asking, control: Control, index: number): TemplateResult {
  const asked = asking.isAsked(control);
  const off = !control.enabled || asked;
  const hasForm = (control.fields?.length ?? 0) > 0;
  const why = asked && control.enabled ? "asked" : hasReason(control) ? `why-${groupOf(control)}` : nothing;
  return html`<button type="button" part="control control-${control.action}" class=${control.style === "go" ? "go" : "plain"}
    id="control-${index}" data-action=${control.action} dir="auto"
    aria-disabled=${off ? "true" : nothing} aria-busy=${asked ? "true" : nothing} aria-describedby=${why}
    aria-expanded=${hasForm && !off ? String(asking.open === controlKey(control)) : nothing}
    @click=${() => asking.press(control)}>${control.label}</button>`;
}

/** Says what was pressed and is not yet on record; the card alone says what became of it. */
function requested(asking: Asking, controls: readonly Control[]): TemplateResult {
  const labels = controls.filter((control) => asking.isAsked(control)).map((control) => control.label);
  return html`<p id="asked" role="status" class=${labels.length > 0 ? "asked" : "asked none"}>${
    labels.length > 0 ? html`${markGlyph("request")}<span><bdi>${labels.join(", ")}</bdi>: ${words.requested}</span>` : nothing}</p>`;
}

const groupOf = (control: Control): string => encodeURIComponent(control.why ?? "none").replace(/%/g, "_");

/** Tells whether something is to be said beside a control: why it is off, or what to know before it is pressed. */
const hasReason = (control: Control): boolean => !control.enabled || Boolean(control.why);

/** Gives the reason of each control that is off, and what to know of one that is on, once for all that share it. */
function reasons(controls: readonly Control[], place: "beside" | "below"): Drawn {
  const groups = new Map<string, Control[]>();
  for (const control of controls) {
    if (hasReason(control)) groups.set(groupOf(control), [...(groups.get(groupOf(control)) ?? []), control]);
  }
  if (groups.size === 0) return nothing;
  return html`<ul class="whys ${place}">${[...groups].map(([group, members]) => html`<li id="why-${group}" part="why">
    <b dir="auto">${words.off(members.map((control) => control.label).join(", "))}</b>
    <span dir="auto">${members[0]?.why ? prose(members[0].why) : words.offWithoutReason}</span></li>`)}</ul>`;
}

function form(asking: Asking, control: Control): TemplateResult {
  const send = (event: Event) => {
    event.preventDefault();
    const target = event.currentTarget as HTMLFormElement;
    const first = asking.send(control);
    if (first) target.querySelector<HTMLElement>(`[name="${CSS.escape(first.name)}"]`)?.focus();
  };
  const leave = (event: Event) => {
    const root = (event.currentTarget as HTMLElement).getRootNode() as ShadowRoot;
    root.querySelector<HTMLElement>(".act button[aria-expanded=true]")?.focus();
    asking.close();
  };
  const escape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    leave(event);
  };
  const asked = asking.isAsked(control);
  return html`<form class="ask" part="form" novalidate aria-label=${control.label} @submit=${send} @keydown=${escape}>
    ${repeat(control.fields ?? [], (field) => field.name, (field) => entry(asking, control, field))}
    <div class="send">
      <button type="submit" class="go" aria-disabled=${asked ? "true" : nothing} dir="auto">${control.label}</button>
      <button type="button" class="plain" @click=${leave}>${words.leave}</button>
    </div>
  </form>`;
}

function entry(asking: Asking, control: Control, field: Field): TemplateResult {
  const fault = asking.faultIn(control, field);
  const id = `field-${encodeURIComponent(field.name)}`;
  return html`<div class="field"><label for=${id} dir="auto">${field.label}</label>
    ${input(asking, control, field, id, fault)}
    <p class="fault" id="${id}-fault" role="alert" ?hidden=${fault === null}>${fault}</p></div>`;
}

function input(asking: Asking, control: Control, field: Field, id: string, fault: string | null): TemplateResult {
  const typing = (event: Event) => asking.type(control, field, (event.target as HTMLInputElement).value);
  const text = asking.textIn(control, field);
  const invalid = fault === null ? nothing : "true";
  const described = fault === null ? nothing : `${id}-fault`;
  const required = field.required ? "true" : nothing;
  if (field.kind === "choice") {
    const options = (field.options ?? []).map((option) => (typeof option === "string" ? { value: option, label: option } : option));
    return html`<select id=${id} name=${field.name} aria-invalid=${invalid} aria-describedby=${described} aria-required=${required} @change=${typing}>
      ${text === "" ? html`<option value="" selected></option>` : nothing}
      ${options.map(({ value, label }) => html`<option value=${value} ?selected=${value === text}>${label}</option>`)}</select>`;
  }
  if (field.kind === "multiline" || field.kind === "json") {
    return html`<textarea id=${id} name=${field.name} rows=${field.kind === "json" ? 6 : 3} class=${field.kind === "json" ? "mono" : ""}
      dir=${field.kind === "json" ? "ltr" : "auto"} spellcheck=${field.kind === "json" ? "false" : "true"}
      aria-invalid=${invalid} aria-describedby=${described} aria-required=${required} .value=${live(text)} @input=${typing}></textarea>`;
  }
  return html`<input type="text" id=${id} name=${field.name} dir="auto" autocomplete="off"
    aria-invalid=${invalid} aria-describedby=${described} aria-required=${required} .value=${live(text)} @input=${typing}>`;
}
