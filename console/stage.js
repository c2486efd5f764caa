// The stage: its addresses, tokens and clients, and what only a local stage answers.

const SECRET = "headrace.secret";

/** The secret behind # of the address. It stays in this tab, and leaves the address. */
export function secret() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given !== "") {
    sessionStorage.setItem(SECRET, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(SECRET);
}

async function local(path, body) {
  const address = `${path}?secret=${encodeURIComponent(secret())}`;
  const answer = await fetch(address, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const result = await answer.json();
  if (!answer.ok) {
    throw new Error(result.message ?? result.error?.message ?? `status ${answer.status}`);
  }
  return result;
}

export const counts = () => local("/console/counts");
export const kill = (service, seconds) => local("/kill", { service, seconds });

/** A function that gets tokens of a user. */
const tokensOf = (user, scopes) => async () => (await local("/console/token", { user, scopes })).access_token;

/** Makes the clients of users; one for each user and set of scopes. */
export async function connect() {
  const [config, { Headrace }] = await Promise.all([local("/console/config.json"), import("/headrace-client.js")]);
  const clients = new Map();
  return (user, ...scopes) => {
    const key = [user, ...scopes].join(" ");
    if (!clients.has(key)) {
      clients.set(key, new Headrace({ ...config, token: tokensOf(user, scopes) }));
    }
    return clients.get(key);
  };
}
