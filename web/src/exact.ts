/** JSON as text, never as numbers: what is shown, copied and sent is what was recorded or typed, digit for digit. */

/** Why a text is not JSON, or null when it is. */
export function whyNotJson(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Indents a JSON text for reading and changes nothing but the white space between its tokens.
 *
 * A text that is not JSON, or that is already set on several lines, comes back as it is.
 */
export function indentJson(text: string): string {
  if (text.includes("\n") || whyNotJson(text) !== null) return text;
  const tokens = text.match(token) ?? [];
  let out = "";
  let depth = 0;
  const newLine = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((part, index) => {
    const next = tokens[index + 1];
    if (part === "{" || part === "[") {
      const closesAtOnce = next === "}" || next === "]";
      depth += closesAtOnce ? 0 : 1;
      out += closesAtOnce ? part : part + newLine();
    } else if (part === "}" || part === "]") {
      const before = tokens[index - 1];
      if (before !== "{" && before !== "[") {
        depth -= 1;
        out += newLine();
      }
      out += part;
    } else if (part === ",") out += part + newLine();
    else if (part === ":") out += ": ";
    else out += part;
  });
  return out;
}

/** One answer of a form: the text as typed, and whether it is JSON itself. */
export interface Typed { name: string; text: string; json: boolean }

/**
 * Builds the body of an action request as JSON text.
 *
 * What was typed as JSON is put in as typed, so that a 19-digit integer arrives with all its digits.
 */
export function actionBody(
  { binding, requestId, reason, typed }: {
    binding: Readonly<Record<string, unknown>>; requestId: string; reason: string | null; typed: readonly Typed[];
  },
): string {
  const members = Object.entries({ ...binding, requestId, ...(reason === null ? {} : { reason }) })
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  if (typed.length > 0) {
    const fields = typed.map(({ name, text, json }) => `${JSON.stringify(name)}:${json ? text : JSON.stringify(text)}`);
    members.push(`"fields":{${fields.join(",")}}`);
  }
  return `{${members.join(",")}}`;
}

/** A random identifier that also works where the page is not a secure context. */
export function randomId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
