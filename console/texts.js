// The texts of the frame and of the first screen. Each is plain text, or a function that returns plain text. Each other
// view has such a file of its own.

const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const count = (value) => number.format(value);
/** A number; what was not read is none. */
export const read = (value) => (value === undefined ? "?" : count(value));
export const clock = (milliseconds) => time.format(milliseconds);

const moment = new Intl.DateTimeFormat([], {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false,
});

/** The day and the time, to the second, of an ISO-8601 time. What is no time stays as it is. */
export const at = (time) => (Number.isNaN(Date.parse(time)) ? String(time) : moment.format(Date.parse(time)));

/** A duration, such as "23 ms" or "2.1 s". */
export function duration(milliseconds) {
  if (milliseconds < 1_000) {
    return `${Math.max(0, Math.round(milliseconds))} ms`;
  }
  return milliseconds < 60_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : `${Math.round(milliseconds / 60_000)} min`;
}

export const texts = {
  noSecret: "This page needs the whole address of the console.",
  noSecretHelp: "Open the address that make run printed after “console”. make status prints it again.",
  signedIn: (name) => `as ${name}`,
  signIn: { people: "Sign in", operators: "Sign in as an operator" },
  signOut: "Sign out",
  needsScope: (scopes) => `This view needs the ${scopes.length === 1 ? "scope" : "scopes"} ${scopes.join(" and ")}.`,
  noLogin: "No login of this stage gives it to a person. Programs get it with client credentials.",
  loading: "Loading …",
  /** API Gateway says no more to a token without the scope of a route. */
  reasons: { Forbidden: "your token lacks the right to do this" },
  failed: (reason, allowed) => `It did not work: ${texts.reasons[reason] ?? reason}${allowed === undefined ? "" : `; allowed: ${allowed}`}`,
  again: "Try again",
  skip: "Skip to the content",
  navigation: "Views",
  views: { "": "Overview", questions: "Questions", streams: "Streams", people: "Personal data", "dead-letters": "Dead lane" },
  chart: (title, newest) => `${title}, newest: ${newest}`,

  noPage: "There is no such page",
  stageAway: (reason, time) =>
    `${reason}. This page asks again every 2 seconds.${time === undefined ? "" : ` What it shows is of ${clock(time)}.`}`,

  lanesNow: "Lanes",
  noCounts:
    "How many events were accepted and stored is in CloudWatch: see the dashboard of the stack. This page reads only " +
    "GET /status.",
  lane: "lane",
  laneState: "state",
  laneHolds: "in it",
  laneNames: { main: "main", retry: "retry", dead: "dead", parked: "parked" },
  state: {
    ok: "ok", degraded: "degraded", away: "away", empty: "empty", holding: "holding", unknown: "unknown", open: "open",
    missing: "missing",
  },

  checks: "Breakers and probes",
  breakers: "Circuit breakers",
  probes: "Probes",
  notClosed: (n) => `in ${n} ${n === 1 ? "environment" : "environments"}`,
  probesAge: (seconds) => `newest ${Math.round(seconds)} s old`,
  accepting: "New events take",
  acceptingLane: { main: "the main lane", retry: "the retry lane", unknown: "an unknown lane" },

  events: "Last events",
  noLogs: "This page has no logs on AWS.",
  noLogsHelp: "CloudWatch Logs Insights finds an event by its id, in the log group of the functions.",
};

/** The texts of what only a local stage shows. They are not published. */
export const localTexts = {
  user: "as",
  reference: "API reference",
  balance: "Is everything kept?",
  accepted: "accepted",
  parts: { stored: "stored", main: "main lane", retry: "retry lane", dead: "dead lane", parked: "parked" },
  kept: "lost 0",
  keptWhy: "Every accepted event is stored or waits in a lane.",
  lost: (n) => `lost ${count(n)}`,
  lostWhy: "The lanes are empty, and this many accepted events were not stored.",
  sample:
    "Since the start of the stage, from the metric lines of its functions. Lanes are approximate counts of " +
    "GET /status, at most 4 s old. A redelivery counts again, and hides as large a loss.",
  unread: "? not read",
  unreadWhy: "Some events are not stored, and a lane that may hold them does not say what it holds.",
  redelivered: (n) =>
    ` ${count(n)} more were stored than accepted: delivered again, which changes no row, or accepted before the start.`,
  more: (lane, n) =>
    ` The ${texts.laneNames[lane]} lane holds ${count(n)} more: accepted before the start, delivered again, stored since, or poison.`,

  rate: (value) => `${value < 10 ? Number(value.toFixed(1)) : count(Math.round(value))}/s`,
  lanes: "Lanes, last 15 minutes",
  lanesNote:
    "Points are of 5 seconds, from the metric lines of the functions. What a lane holds is known since this page was " +
    "opened, from GET /status.",
  laneRecords: "records",
  laneRate: "rate",
  laneDepth: "in it",
  laneAge: "age",
  laneIn: { main: "accepted", retry: "in", dead: "in" },
  laneOut: { main: "stored", retry: "stored", dead: "redriven" },
  laneWaits: { main: "longest until stored", retry: "longest wait", dead: "holding for", parked: "holding for" },
  way: "An event’s way",
  wayLabel: ({ rows, retry, dead }) =>
    `Clients, receive, RabbitMQ, persist, DynamoDB: ${rows}. Retry lane: ${retry}. Dead lane: ${dead}.`,
  nodes: {
    clients: "clients", receive: "receive", broker: "RabbitMQ", persist: "persist", rows: "DynamoDB",
    retry: "retry lane", dead: "dead lane", push: "push", readers: "readers",
  },
  ready: (n) => `${read(n)} ready`,
  brokerAway: "away",
  rows: (n) => `${count(n)} stored`,
  waiting: (n) => `${read(n)} waiting`,

  eventsNote: "A sample: the first event of each of the newest requests. Open one to see its way, as make trace prints it.",
  noEvents: "No events yet.",
  noEventsHelp: "Send traffic below.",
  noSteps: "The logs have no step of this event any more.",

  tools: "Try it",
  toolsNote: "Only on the local stage.",
  traffic: "Send traffic",
  trafficRuns: "Sending …",
  trafficDone: (n, viaRetry) =>
    `${count(n)} messages to #traffic were accepted: ${count(n - viaRetry)} in the main lane, ${count(viaRetry)} in the retry lane.`,
  poison: "Make a poison record",
  poisoned: "A record that is not JSON is in the queue. It goes to the dead lane.",
  kill: "Kill RabbitMQ for 10 s",
  killed: "RabbitMQ is killed. New events take the retry lane.",
  back: "RabbitMQ answers again. New events take the main lane as soon as circuit breakers close.",
};
