// Makes the static files of dist/. The page loads config.json beside them: publish.sh writes it, and serve.mjs answers it.
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
