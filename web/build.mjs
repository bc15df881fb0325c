/**
 * Builds the one ESM bundle and the one style sheet that the server ships, or (with `--tests`) the unit tests.
 *
 * Nothing is fetched at run time: Lit is in the bundle, fonts are the system's, glyphs are inline SVG.
 */
import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { fileURLToPath, pathToFileURL } from "node:url";
import path from "node:path";
import * as esbuild from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = ["es2022"];

/** Takes the indentation out of templates and style sheets, which esbuild leaves as written; it means nothing in them. */
const tightTemplates = {
  name: "tight-templates",
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path: file }) => {
      const source = (await readFile(file, "utf8")).replace(/\n[ \t]+/g, "\n");
      const contents = file.endsWith(".styles.ts")
        ? source.replace(/css`([^`]*)`/g, (_, sheet) => `css\`${sheet.replace(/\s+/g, " ").replace(/\s*([{};,])\s*/g, "$1").replace(/;}/g, "}").trim()}\``)
        : source;
      return { contents, loader: "ts" };
    });
  },
};

async function bundle() {
  const out = path.resolve(here, process.env.TOOLWITNESS_STATIC ?? "../src/toolwitness/server/static");
  await mkdir(out, { recursive: true });
  await esbuild.build({
    entryPoints: [path.join(here, "src/index.ts")],
    outfile: path.join(out, "toolwitness.js"),
    bundle: true, minify: true, format: "esm", target, charset: "utf8", legalComments: "eof",
    plugins: [tightTemplates],
  });
  const page = await pageStyles();
  await writeFile(path.join(out, "toolwitness.css"), page);
  for (const name of ["toolwitness.js", "toolwitness.css"]) {
    const bytes = await readFile(path.join(out, name));
    console.log(`${name}  ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzipped`);
  }
}

/** The page's style sheet is made from the same token table as the elements, so that they cannot drift apart. */
async function pageStyles() {
  const scratch = path.join(here, ".tests", "page.mjs");
  await esbuild.build({ entryPoints: [path.join(here, "src/page.ts")], outfile: scratch, bundle: true, format: "esm", target, platform: "node" });
  const { pageSheet } = await import(`${pathToFileURL(scratch).href}?${(await stat(scratch)).mtimeMs}`);
  return (await esbuild.transform(pageSheet, { loader: "css", minify: true, charset: "utf8" })).code;
}

async function tests() {
  const out = path.join(here, ".tests");
  await rm(out, { recursive: true, force: true });
  const names = (await readdir(path.join(here, "src"), { recursive: true })).filter((name) => name.endsWith(".test.ts"));
  await esbuild.build({
    entryPoints: names.map((name) => path.join(here, "src", name)),
    outdir: out, outExtension: { ".js": ".mjs" },
    bundle: true, format: "esm", target, platform: "node", sourcemap: "inline",
  });
}

await (process.argv.includes("--tests") ? tests() : bundle());
