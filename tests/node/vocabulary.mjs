// Prints what each installed front-end package calls things, as one JSON object. The tests compare it with our mapping tables.
import { readFileSync } from "node:fs";

const here = new URL("./node_modules/", import.meta.url);

/** The text of a declaration, from its first line to the statement that ends it. */
function declaration(file, start, end) {
  const text = readFileSync(new URL(file, here), "utf8");
  const from = text.indexOf(start);
  if (from < 0) throw new Error(`${file} does not declare ${start}`);
  return text.slice(from, text.indexOf(end, from));
}

const literals = (text, name) => [...text.matchAll(new RegExp(`\\b${name}: ["']([^"']+)["']`, "g"))].map((one) => one[1]);
const unique = (words) => [...new Set(words)].sort();

/** The chunk types of a UI message stream; `data-…` is whatever an application calls its own parts. */
const chunks = (file) => unique([...literals(declaration(file, "type UIMessageChunk<", "type InferUIMessageChunk"), "type"), "data-…"]);
const states = (file) => unique(literals(declaration(file, "type UIToolInvocation<", "type ToolUIPart"), "state"));
const chunk = declaration("assistant-stream/dist/core/AssistantStreamChunk.d.ts", "export type AssistantStreamChunk", "//# source");
const part = declaration("assistant-stream/dist/core/AssistantStreamChunk.d.ts", "export type PartInit", "/**\n * Normalized");
const codes = await import(new URL("assistant-stream/dist/core/serialization/data-stream/chunk-types.js", here));
const { EventType } = await import("@ag-ui/core");

process.stdout.write(
  JSON.stringify(
    {
      ai6: { chunks: chunks("ai6/dist/index.d.ts"), states: states("ai6/dist/index.d.ts") },
      ai7: { chunks: chunks("ai7/dist/index.d.ts"), states: states("ai7/dist/index.d.ts") },
      agui: { events: Object.values(EventType).sort() },
      assistant: {
        chunks: unique(literals(chunk, "type")),
        parts: unique(literals(part, "type")),
        codes: Object.values(codes.DataStreamStreamChunkType).sort(),
      },
    },
    null,
    1,
  ),
);
