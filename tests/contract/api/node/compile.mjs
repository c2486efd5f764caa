// Compiles JSON schemas with Ajv as it comes, which is strict, and with the format of times: `{"name": schema}` in, `{"name": "why it does not compile"}` out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const Ajv = createRequire(`${process.argv[2]}/`)("ajv/dist/2020.js").default;
const ajv = new Ajv({ unicodeRegExp: true, logger: false, keywords: ["components", "discriminator"], formats: { "date-time": true } });
const wrong = {};
for (const [name, schema] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  try {
    ajv.compile(schema);
  } catch (error) {
    wrong[name] = error.message;
  }
}
console.log(JSON.stringify(wrong));
