// Makes the static files of dist/. Beside them, a page needs the config.json that README.md shows.
import { cpSync, rmSync } from "node:fs";

import { build } from "esbuild";

rmSync("dist", { recursive: true, force: true });
cpSync("static", "dist", { recursive: true });
await build({
  entryPoints: { chat: "src/main.tsx", style: "src/style.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
