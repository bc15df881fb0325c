/** Builds both pages into `dist/`, which is never committed: it holds other people's code. */
import { cp } from "node:fs/promises";
import * as esbuild from "esbuild";

await esbuild.build({
  entryPoints: { "ai-sdk": "src/ai-sdk.tsx", "ag-ui": "src/ag-ui.tsx" },
  outdir: "dist", bundle: true, minify: true, format: "esm", target: "es2022", jsx: "automatic", charset: "utf8", legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
});
await cp("src/page.css", "dist/page.css");
