// Makes `http.ts` of openapi.json and `frames.ts` of asyncapi.json. Arguments: the packages of the TypeScript client, those
// beside this file, the documents, and the output folder.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [tools, packages, documents, output] = process.argv.slice(2);
const { default: openapiTS, astToString } = createRequire(`${tools}/`)("openapi-typescript");
const { TypeScriptGenerator } = createRequire(`${packages}/`)("@asyncapi/modelina");

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
