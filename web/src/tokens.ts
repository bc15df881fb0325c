/**
 * The semantic tokens, light and dark: the one place where a colour is written down.
 *
 * Each is a public custom property `--tw-<name>`; a page that sets one (on `:root`, on a wrapper, on an element) overrides
 * the value here. A W3C design-tokens file maps onto them name by name: `color.paper` → `--tw-paper`,
 * `color.tone.wait.ground` → `--tw-wait-bg`, `dimension.radius` → `--tw-radius`, `fontFamily.sans` → `--tw-sans`.
 */
export const colours = {
  paper: ["#fbfaf8", "#141311"],
  surface: ["#ffffff", "#1c1b18"],
  sunken: ["#f5f3ef", "#23211e"],
  line: ["#e3dfd8", "#34312c"],
  "line-strong": ["#c9c3b8", "#4b473f"],
  ink: ["#1d1b18", "#f0ede6"],
  "ink-2": ["#5b564d", "#b8b2a6"],
  "ink-3": ["#6b655a", "#a09a8d"],
  accent: ["#1f4fa3", "#9dbcf7"],
  "accent-ink": ["#ffffff", "#10203e"],
  ok: ["#1d6b45", "#7fd0a2"],
  "ok-bg": ["#e8f3ec", "#16291f"],
  bad: ["#a3271d", "#f5a198"],
  "bad-bg": ["#fbebe8", "#331b18"],
  wait: ["#855000", "#f0c070"],
  "wait-bg": ["#fcf1dd", "#31260f"],
  live: ["#1f4fa3", "#9dbcf7"],
  "live-bg": ["#e9effa", "#18233a"],
  off: ["#5b564d", "#b8b2a6"],
  "off-bg": ["#efece6", "#2a2824"],
} as const satisfies Record<string, readonly [light: string, dark: string]>;

/** Tokens that do not change with the theme. */
export const shapes = {
  radius: "10px",
  measure: "860px",
  sans: 'ui-sans-serif,system-ui,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",sans-serif',
  mono: 'ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono","Noto Sans Mono",monospace',
} as const;

/** Every pair of ink and ground that is drawn as text; each must reach 4.5 : 1 in both themes. */
export const textPairs: readonly (readonly [ink: keyof typeof colours, ground: keyof typeof colours])[] = [
  ...(["ink", "ink-2", "ink-3"] as const).flatMap((ink) => (["paper", "surface", "sunken"] as const).map((ground) => [ink, ground] as const)),
  ...(["ok", "bad", "wait", "live", "off"] as const).map((tone) => [tone, `${tone}-bg`] as const),
  ...(["bad", "wait", "accent"] as const).flatMap((ink) => (["surface", "paper"] as const).map((ground) => [ink, ground] as const)),
  ["accent-ink", "accent"],
  ["accent", "sunken"],
  ["ink", "wait-bg"],
  ["ink", "bad-bg"],
];

/** The declarations that give a document the tokens as public properties. */
export function publicTokens(): string {
  const coloured = Object.entries(colours).map(([name, [light, dark]]) => `--tw-${name}:light-dark(${light},${dark})`);
  return [...coloured, ...Object.entries(shapes).map(([name, value]) => `--tw-${name}:${value}`)].join(";");
}

/** The declarations that give a shadow tree its private copies, which follow the public ones where those are set. */
export function privateTokens(): string {
  const coloured = Object.entries(colours).map(([name, [light, dark]]) => `--_${name}:var(--tw-${name},light-dark(${light},${dark}))`);
  return [...coloured, ...Object.entries(shapes).map(([name, value]) => `--_${name}:var(--tw-${name},${value})`)].join(";");
}
