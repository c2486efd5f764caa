// Builds dist/: index.js, the same minified as index.min.js with its source map, and index.d.ts with the types.
//
// The types of requests, answers and frames come from the API descriptions: those in docs/reference, or in the folder
// that is given. Fails when the types are wrong, or when index.min.js is larger than LARGEST.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";
import openapiTS, { astToString } from "openapi-typescript";

const LARGEST = 10_000; // bytes, compressed
const here = dirname(fileURLToPath(import.meta.url));
const descriptions = process.argv[2] ?? join(here, "..", "..", "docs", "reference");

/**
 * The AsyncAPI document as an OpenAPI document without paths: each message of the connection is a schema, and the
 * schema "Frames" has the frame and the answer of each action.
 */
function asOpenApi({ info, operations, components }) {
  const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
  const message = ({ $ref }) => ({ $ref: `#/components/schemas/frame.${$ref.split("/").pop()}` });
  const schemas = { ...components.schemas };
  for (const [name, { payload }] of Object.entries(components.messages)) {
    schemas[`frame.${name}`] = payload;
  }
  const asked = Object.entries(operations).filter(([, { reply }]) => reply !== undefined);
  schemas.Frames = object(
    Object.fromEntries(
      asked.map(([action, { messages, reply }]) => [
        action,
        object({ frame: message(messages[0]), answer: message(reply.messages[0]) }),
      ]),
    ),
  );
  return { openapi: "3.1.0", info: { title: info.title, version: info.version }, paths: {}, components: { schemas } };
}

async function generate(description, file, convert = (document) => document) {
  const document = convert(JSON.parse(readFileSync(join(descriptions, description), "utf8")));
  writeFileSync(join(here, "src", "generated", file), astToString(await openapiTS(document, { defaultNonNullable: false })));
}

rmSync(join(here, "dist"), { recursive: true, force: true });
mkdirSync(join(here, "src", "generated"), { recursive: true });
await generate("openapi.json", "http.ts");
await generate("asyncapi.json", "websocket.ts", asOpenApi);

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
execFileSync(process.execPath, [tsc, "--project", here], { stdio: "inherit" });

const options = {
  entryPoints: [join(here, "src", "index.ts")],
  bundle: true,
  format: "esm",
  target: "es2022",
  logLevel: "warning",
};
const minified = join(here, "dist", "index.min.js");
await build({ ...options, outfile: join(here, "dist", "index.js") });
await build({ ...options, outfile: minified, minify: true, sourcemap: true });
const text = readFileSync(minified);
const compressed = gzipSync(text, { level: 9 }).length;
console.log(`headrace-client: ${text.length} bytes, compressed ${compressed} of at most ${LARGEST}`);
if (compressed > LARGEST) {
  console.error("the bundle is too large");
  process.exit(1);
}
