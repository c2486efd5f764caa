// Makes `http.ts` of openapi.json and `frames.ts` of asyncapi.json: packages, documents and output folder in.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, documents, output] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { default: openapiTS, astToString } = require("openapi-typescript");
const { TypeScriptGenerator } = require("@asyncapi/modelina");

const read = (name) => JSON.parse(readFileSync(`${documents}/${name}.json`, "utf8"));
writeFileSync(`${output}/http.ts`, astToString(await openapiTS(read("openapi"))));

const generator = new TypeScriptGenerator({
  modelType: "interface",
  enumType: "union",
  mapType: "record",
  rawPropertyNames: true,
  processorOptions: { interpreter: { ignoreAdditionalProperties: true } },
  constraints: { constant: ({ constrainedMetaModel: model }) => model.options.const && `"${model.options.const.originalInput}"` },
});
const models = await generator.generate(read("asyncapi"));
const exported = models.map(({ result }) => result.replace(/^(?=interface|type)/m, "export "));
writeFileSync(`${output}/frames.ts`, exported.join("\n\n"));
console.log(JSON.stringify(models.map(({ modelName }) => modelName)));
