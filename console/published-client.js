// What the published console has in place of /headrace-client.js: the part of the TypeScript client that makes requests.
import { Http } from "headrace-client/http.ts";
import { DEFAULTS } from "headrace-client/settings.ts";
import { Tokens } from "headrace-client/tokens.ts";

export class Headrace {
  #http;

  constructor({ httpUrl, token, settings }) {
    const all = { ...DEFAULTS, ...settings };
    const ask = (...request) => fetch(...request);
    this.#http = new Http(httpUrl.replace(/\/+$/, ""), new Tokens(token, all.renewBefore), ask, all);
  }

  request(operation, parameters, { retryTimeout = DEFAULTS.retryTimeout } = {}) {
    return this.#http.request(operation, parameters, retryTimeout);
  }
}
