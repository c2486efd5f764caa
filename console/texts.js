// All texts of the console. Each is plain text, or a function that returns plain text. `texts` has those of the frame
// and of the first screen; each other view has its own object below.

const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const count = (value) => number.format(value);
export const clock = (milliseconds) => time.format(milliseconds);

const moment = new Intl.DateTimeFormat([], {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false,
});

/** The day and the time, to the second, of an ISO-8601 time. */
export const at = (time) => moment.format(Date.parse(time));

/** A duration, such as "23 ms" or "2.1 s". */
export function duration(milliseconds) {
  if (milliseconds < 1_000) {
    return `${Math.max(0, Math.round(milliseconds))} ms`;
  }
  return milliseconds < 60_000 ? `${(milliseconds / 1_000).toFixed(1)} s` : `${Math.round(milliseconds / 60_000)} min`;
}

const lane = (name) => (name === "retry" ? "retry lane" : "main lane");

export const texts = {
  noSecret: "This page needs the whole address of the console.",
  noSecretHelp: "Open the address that make run printed after “console”. make status prints it again.",
  signedIn: (name) => `as ${name}`,
  signIn: { people: "Sign in", operators: "Sign in as an operator" },
  signOut: "Sign out",
  needsScope: (scopes) => `This view needs the ${scopes.length === 1 ? "scope" : "scopes"} ${scopes.join(" and ")}.`,
  noLogin: "No login of this stage gives it to a person. Programs get it with client credentials.",
  loading: "Loading …",
  failed: (reason) => `It did not work: ${reason}`,
  again: "Try again",
  skip: "Skip to the content",
  navigation: "Views",
  views: { "": "Overview", rooms: "Rooms", questions: "Questions", "dead-letters": "Dead lane" },
  user: "as",
  reference: "API reference",
  chart: (title, newest) => `${title}, newest: ${newest}`,

  stageAway: (reason) => `The stage does not answer: ${reason}. This page asks again every second.`,

  balance: "Is everything kept?",
  accepted: "accepted",
  parts: { stored: "stored", main: "main lane", retry: "retry lane", dead: "dead lane", parked: "parked" },
  kept: "lost 0",
  keptWhy: "Every accepted event is stored or waits in a lane.",
  lost: (n) => `lost ${count(n)}`,
  lostWhy: "The lanes are empty, and this many accepted events were not stored.",
  sample:
    "Since the start of the stage, from the metric lines of its functions. Lanes are approximate counts of " +
    "GET /status, at most 2 s old.",
  redelivered: (n) => ` ${count(n)} were delivered again, and changed no row.`,
  strange: (n) => ` The dead lane holds ${count(n)} more, which no function accepted, such as poison.`,

  rate: (value) => `${value < 10 ? Number(value.toFixed(1)) : count(Math.round(value))}/s`,
  lanes: "Lanes, last 15 minutes",
  lanesNow: "Lanes",
  lanesNote:
    "Points are of 5 seconds, from the metric lines of the functions. What a lane holds is known since this page was " +
    "opened, from GET /status.",
  noCounts:
    "How many events were accepted and stored is in CloudWatch: see the dashboard of the stack. This page reads only " +
    "GET /status.",
  lane: "lane",
  laneState: "state",
  laneHolds: "in it",
  laneRecords: "records",
  laneRate: "rate",
  laneDepth: "in it",
  laneAge: "age",
  laneNames: { main: "main", retry: "retry", dead: "dead", parked: "parked" },
  laneIn: { main: "accepted", retry: "in", dead: "in" },
  laneOut: { main: "stored", retry: "stored", dead: "redriven" },
  laneWaits: { main: "longest until stored", retry: "longest wait", dead: "holding for", parked: "holding for" },
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

  way: "An event’s way",
  wayLabel: (stored, retry, dead) =>
    `Clients, receive, RabbitMQ, persist, DynamoDB: ${count(stored)} stored. ` +
    `Retry lane: ${count(retry)}. Dead lane: ${count(dead)}.`,
  nodes: {
    clients: "clients", receive: "receive", broker: "RabbitMQ", persist: "persist", rows: "DynamoDB",
    retry: "retry lane", dead: "dead lane", push: "push", readers: "readers",
  },
  ready: (n) => `${count(n)} ready`,
  brokerAway: "away",
  rows: (n) => `${count(n)} stored`,
  waiting: (n) => `${count(n)} waiting`,

  events: "Last events",
  eventsNote: "A sample: the first event of each of the newest requests. Open one to see its way, as make trace prints it.",
  noEvents: "No events yet.",
  noEventsHelp: "Type a message below, or send traffic.",
  noLogs: "This page has no logs on AWS.",
  noLogsHelp: "CloudWatch Logs Insights finds an event by its id, in the log group of the functions.",
  noSteps: "The logs have no step of this event any more.",

  room: (name) => `#${name}`,
  pane: (user) => `as ${user}`,
  connection: { idle: "connecting", connecting: "connecting", open: "live", closed: "closed" },
  empty: "No messages yet. Type one.",
  message: "Message",
  placeholder: "Type a message",
  send: "Send",
  messages: (user) => `Messages as ${user} sees them`,
  tick: {
    sending: "sent, no answer yet",
    accepted: (name, ms) => `accepted · ${lane(name)} · after ${duration(ms)}`,
    stored: (name, acceptedMs, storedMs) =>
      `stored · ${lane(name)} · accepted after ${duration(acceptedMs)}, back after ${duration(storedMs)}`,
    failed: (reason) => `refused: ${reason}`,
  },
  seen: (ms) => `seen after ${duration(ms)}`,
  deleted: "deleted",

  tools: "Try it",
  toolsNote: "Only on the local stage.",
  traffic: "Send traffic",
  trafficRuns: "Sending …",
  trafficDone: (n) => `${count(n)} messages sent to #traffic`,
  poison: "Make a poison record",
  poisoned: "A record that is not JSON is in the queue. It goes to the dead lane.",
  kill: "Kill RabbitMQ for 10 s",
  killed: "RabbitMQ is killed. Type messages: they take the retry lane.",
  back: "RabbitMQ starts again. The next message closes Bob’s gap.",
};

/** The view #/rooms. */
export const roomsTexts = {
  conversations: "Conversations",
  invitations: "Invitations",
  none: "You are in no room yet.",
  openLobby: "Open #lobby",
  incomplete: "These are the newest 2,000 rooms; older ones are not listed.",
  unread: (n, many) => (many ? "99 or more unread messages" : `${n} unread ${n === 1 ? "message" : "messages"}`),
  you: (text) => `You: ${text}`,
  noMessages: "No messages yet.",
  choose: "No conversation is open",
  chooseHelp: "Choose one from the list, or start one with +.",

  start: "New conversation",
  kinds: { open: "Open room", members: "Members only", person: "Direct message" },
  kindsHelp: {
    open: "Everyone can read, write and join. If it exists, you join it.",
    members: "Only its members read and write. You invite them.",
    person: "A room of you and one other user.",
  },
  roomId: "Name of the room",
  userId: "Id of the user",
  cancel: "Cancel",
  go: "Open",
  errors: { conflict: "Another room has this name.", forbidden: "You have no right to do this.", not_found: "There is no such room." },

  back: "Back to the conversations",
  join: "Join",
  accept: "Accept",
  decline: "Decline",
  jump: "Jump to a date",
  present: "Newest messages",
  newBelow: (n) => `${count(n)} new ${n === 1 ? "message" : "messages"}`,
  unreadSince: (n) => `${n > 99 ? "99+" : n} unread messages, read from there`,
  line: "New",
  beginning: "This is the beginning of the room.",
  reading: "Reading older messages …",
  messagesOf: (room) => `Messages of ${room}`,
  messageTo: (room) => `Message to ${room}`,
  send: "Send",
  tooLong: (bytes, most) => `The text has ${count(bytes)} bytes of at most ${count(most)}.`,
  connecting: "Connecting …",
  offline: "No connection. What you send is kept, and sent when the connection is back; messages of the meantime are fetched.",
  closed: (reason) => `You are signed out: ${reason}. Load the page again.`,
  refused: "This room is for its members.",
  refusedHelp: "One of its owners can invite you.",
  acceptToRead: "Accept the invitation to read and write here.",
  leftAt: (at) => (at === null ? "Only members write here." : `You left on ${at}. You read what was written while you were in the room.`),
  notices: {
    JOIN: (name) => `${name} joined`,
    LEAVE: (name) => `${name} left`,
  },
  noticesByOther: {
    JOIN: (name, by) => `${by} added ${name}`,
    LEAVE: (name, by) => `${by} removed ${name}`,
  },

  tick: {
    sending: () => "sending",
    accepted: (name) => `accepted · ${lane(name)}`,
    stored: (name) => (name === undefined ? "stored" : `stored · ${lane(name)}`),
    failed: (reason) => `not sent: ${reason}`,
  },
  edited: "edited",
  deletedBy: (user) => (user === undefined ? "This message was deleted." : `This message was deleted by ${user}.`),
  change: (at) => `Change the message of ${at}`,
  edit: "Edit",
  delete: "Delete",
  versions: "Earlier texts",
  editText: "The new text",
  save: "Save",
  surely: "Delete this message? Its text is gone for everybody, also from its earlier texts.",
  keep: "Keep it",
  close: "Close",
  changeAccepted: (name) => `change accepted · ${lane(name)}`,
  took: (ms) => `accepted after ${duration(ms)}`,
  sendAgain: "Send again",
  discard: "Discard",

  members: "Members",
  closeMembers: "Close the members",
  roles: { owner: "owner", member: "member" },
  interval: (from, to) => (to === null ? `since ${from}` : from === null ? `until ${to}` : `${from} – ${to}`),
  intervalsSince: (at) => `Joins and leaves are known since ${at}, as far as messages are loaded.`,
  readOn: "Read earlier ones",
  noMembers: "No user has joined this room. Everyone can read and write.",
  here: (n, more) => `${count(n)}${more ? "+" : ""} here`,
  isHere: (n) => (n === 1 ? "here" : `here, ${count(n)} connections`),
  wasHere: (at) => `perhaps gone, last heard of on ${at}`,
  visitors: "Here without having joined",
  moreHere: "More users are here than are listed.",
  kept: (days) =>
    days === null ? "Messages are kept as long as the stage keeps messages." : `Messages are kept for ${count(days)} ${days === 1 ? "day" : "days"}.`,
  changeKept: "Change",
  keptDays: "Days that messages are kept",
  keptAsStage: "as the stage",
  keptHelp: "With fewer days, older messages are gone within seconds, and do not come back.",
  inviteUser: "Invite a user",
  invite: "Invite",
  invited: (user) => `${user} is invited.`,
  added: (user) => `${user} is in the room.`,
  invitedNow: "Invited",
  invitedBy: (user) => `${user} invites you`,
  invitedByAt: (user, at) => `by ${user}, ${at}`,
  withdraw: "Withdraw",
  withdrawName: (user) => `Withdraw the invitation of ${user}`,
  remove: "Remove",
  removeName: (user) => `Remove ${user}`,
  leave: "Leave",
  leaveForGood: "Leave for good",
  leaveHelp: {
    open: "You can join again at any time. “For good” also takes the room out of your list.",
    members: "Only an owner can bring you back. “For good” also takes the room out of your list.",
  },
  stay: "Stay",
};

/** The view #/questions. */
export const questionsTexts = {
  questions: "Questions",
  names: { messages: "Messages", resort: "A resort’s day", ads: "Ads" },

  window: "Window",
  lasts: { 300: "Last 5 minutes", 3600: "Last hour", 86400: "Last day" },
  between: "Between two times",
  from: "From",
  until: "Until",
  show: "Show",
  zone: (name) => `Times are those of your zone, ${name}. From is in the window, until is not.`,
  wrongWindow: "From must be earlier than until.",
  slots: "How a window is cut into points",
  slotsText:
    "Points begin at whole minutes, hours or days of UTC. Up to 3 hours, a point is a minute; up to 7 days, an hour; else a " +
    "day. The first and the last point are cut to the window.",
  tailText:
    "An answer adds up closed slots of ten seconds, a minute, ten minutes, an hour or a day. The last 12 to 22 seconds are " +
    "in no closed slot yet: they are counted again each time.",
  filter: "Filter",
  room: "Room",
  user: "User",
  all: "all",
  apply: "Apply",
  clear: "Clear",

  counting: "Counting …",
  asking: "Asking …",
  askAgain: "Ask again",
  unavailable: (reason) => `${reason}. What was counted is kept, so the next try goes on from there.`,
  counted: (from, to) => `${from} to ${to}.`,
  asOf: (asOf, missing) =>
    asOf === missing
      ? `Everything that was stored by ${asOf} is counted; what was stored later may be missing.`
      : `As of ${asOf}; what was stored after ${missing} may be missing.`,
  exact: "exact",
  within: (share) => `an estimate, with a standard error of ${(share * 100).toFixed(1)} %`,
  tooLow: (n) => `estimates, each too low by at most ${count(n)}`,
  rate: (value) => `${value < 10 ? value.toFixed(2) : count(Math.round(value))}/s`,
  activeRate: (rate) => `over the whole window; ${rate} from the first to the last`,
  activeUntil: (last) => `the last one ${last}`,
  figures: {
    messages: "messages", users: "unique users", rate: "messages a second", active: "first message", clicks: "clicks",
    skiers: "unique skiers", rides: "rides", vertical: "vertical", resorts: "resorts", dayVertical: "vertical of the day",
    skierRides: "rides of the day", seasonVertical: "vertical of the season",
  },
  columns: {
    userId: "user", roomId: "room", adId: "ad", adType: "type", messages: "messages", uniqueUsers: "unique users", clicks: "clicks",
    from: "from", liftID: "lift", rides: "rides", vertical: "vertical", hour: "hour",
  },
  steps: { 60: "minute", 3600: "hour", 86400: "day" },
  series: {
    messages: (step) => `Messages per ${step}`,
    uniqueUsers: (step) => `Unique users per ${step}`,
    clicks: (step) => `Clicks per ${step}`,
  },
  stepNote: {
    60: "A point is a minute. The first and the last are cut to the window.",
    3600: "A point is an hour of UTC. The first and the last are cut to the window.",
    86400: "A point is a day of UTC; its time is where it begins in your zone. The first and the last are cut to the window.",
  },
  asTable: "The same as a table",
  seriesCaption: (step) => `By ${step}`,

  messagesTitle: "Messages of a window",
  noMessages: "No messages in this window.",
  nothingBetween: (from, to) => `Nothing has a time from ${from} to ${to}. Choose another window.`,
  topUsers: "Users with the most messages",
  topRooms: "Rooms with the most messages",

  adsTitle: "Clicks on ads",
  adTitle: (id) => `Clicks on ${id}`,
  ad: "Ad",
  allAds: "All ads",
  noClicks: "No clicks in this window.",
  unknownAd: (id) => `There are no clicks on an ad “${id}” yet.`,
  topAds: (n) => `The ${n} ads with the most clicks`,
  types: "Clicks by type",

  resortTitle: "A resort’s day",
  noResorts: "No resort has a season yet.",
  noResortsHelp: "Add one with POST /resorts/{resortID}/seasons, or play rides with make demo STREAM=ski.",
  resort: "Resort",
  season: "Season",
  day: "Day of the season",
  allResorts: "all resorts",
  resortNumber: (id) => `resort ${id}`,
  dayTitle: (resort, season, day) => `Season ${season}, day ${day}, ${resort}`,
  chooseDay: "Choose a season and a day.",
  noSeason: (season) => `The season ${season} is not known here.`,
  noRides: "No rides on this day.",
  noRidesHelp: "Choose another day.",
  ridesWithin: "Every ride that was stored 20 seconds ago is counted; later ones may be missing.",
  ridesBetween: "Rides were stored between the questions: ask again.",
  missingResorts: (ids) => `Not counted, because it took too long: resorts ${ids}. Ask again: what was counted stays counted.`,
  liftsLeft: (n) => `${n} lifts with high numbers were not asked for.`,
  skiersPerResort: "skiers are counted per resort: choose one",
  skiersAt: (time) => `exact, as of ${time}`,
  verticalWords: "10 × the number of the lift for each ride",
  verticalPart: "of the lifts below, 10 × the number of the lift for each ride",
  perHour: "Rides per hour of the day",
  hours: "Rides per hour",
  lifts: "Rides and vertical per lift",
  hour: (n) => `${n}:00`,
  skierTitle: "One skier on this day",
  skier: "Skier",
  unknownSkier: (id) => `Skier ${id} has no ride in this season.`,
  liftsOf: (lifts) => (lifts.length === 0 ? "none here" : `lifts ${lifts.slice(0, 20).join(", ")}${lifts.length > 20 ? " …" : ""}`),
  daysSkied: (n) => `${n} ${n === 1 ? "day" : "days"} skied`,
};

/** The view #/dead-letters. */
export const deadLettersTexts = {
  needsScope: "The dead lane is for operators: it needs the scope ops.",
  needsScopeHelp: "Sign in as a user with that scope. On AWS, the how-to “Access and secrets” says how operators sign in.",
  title: "Letters in the dead lane",
  scanning: "Reading the dead lane: up to 4 seconds …",
  reading: "Reading …",
  readAgain: "Read again",
  held: (held, count_) =>
    held === count_
      ? `The queue holds ${count(held)}.`
      : `The queue holds about ${count(held)}, by a count that can be seconds old. What someone else reads now is not shown.`,
  heldUnknown: "How many the queue holds is not known.",
  none: "The dead lane is empty.",
  noneHelp: "A record that could not be stored after five tries comes here.",
  counts: "Letters by day and reason",
  countsNote: "Days are those of UTC, of the first failure. A number filters the list.",
  cell: (n, reason, day) => `${count(n)} ${reason ?? "letters"}${day === undefined ? "" : ` on ${day}`}`,
  day: "Day",
  sum: "all",
  filter: "Filter",
  any: "any",
  stream: "Stream",
  reason: "Reason",
  clear: "Clear",
  noneMatches: "No letter matches the filter.",
  listed: (shown, n) => (shown === n ? `${count(n)} ${n === 1 ? "letter" : "letters"}` : `${count(shown)} of ${count(n)} letters`),
  notComplete: (scanned) => `Not the whole queue was read: ${count(scanned)} letters. There can be more.`,
  events: "Events",
  columns: {
    day: "day", firstFailed: "first failed", reason: "reason", stream: "stream", events: "events", tries: "tries", message: "why",
    time: "time", operator: "operator", action: "what", filter: "which", result: "how many",
  },

  letter: (reason) => `A letter: ${reason}`,
  thisLetter: "this letter",
  close: "Close",
  gone: "This letter is not here.",
  goneHelp: "It was redriven or discarded, or someone reads it now. A letter that dies again gets a new id.",
  storableHelp: (recorded) =>
    recorded === "not_allowed"
      ? "But its sender was not in the room: a redrive does not store it."
      : "The cause is gone: redrive it.",
  reasonHelp: "As examined now. As long as this stays, a redrive brings it back.",
  letterId: "Letter",
  correlationId: "Request",
  trace: "make trace ID=… follows it",
  historyTitle: "History",
  history: {
    accepted: (lane) => `accepted, in the ${lane} lane`,
    failed: (reason) => `failed for the first time${reason === undefined ? "" : `: ${reason}`}`,
    redriven: "redriven by an operator",
    lastSent: "entered the retry lane for the last time",
    tries: (tries, received) => `${count(tries)} tries to store it; received ${count(received)} times from the queue`,
  },
  body: "Body",
  bodyNote: "It can have what people wrote. Reading it is logged with your name.",
  showBody: (characters) => `Show the body, ${characters} characters`,
  withheld: ({ deleted, unchecked }) => [
    deleted > 0 && `Without ${deleted === 1 ? "the text of a deleted message" : `the texts of ${count(deleted)} deleted messages`}.`,
    unchecked > 0 && "Without its texts: whether somebody deleted these messages could not be looked up.",
  ].filter(Boolean).join(" "),
  encoded: (encoding) => `Not text: it is encoded as ${encoding}.`,

  selection: ({ stream, reason, day }) => {
    const parts = [reason && `reason ${reason}`, stream && `stream ${stream}`, day && `first failed on ${day}`].filter(Boolean);
    return parts.length === 0 ? "all letters" : `letters with ${parts.join(", ")}`;
  },
  dryRun: "Count first",
  counted: (n) => (n === 0 ? "No letter matches." : `${count(n)} ${n === 1 ? "letter matches" : "letters match"}:`),
  ofReason: (n, reason) => `${count(n)} ${reason}`,
  redrive: "Redrive",
  redriveNote: (what) => `Sends ${what} to the retry lane again. An event that is stored already stays as it is.`,
  rate: "a second",
  redriveNow: (n) => `Redrive ${count(n)}`,
  progress: "Letters that were moved",
  stop: "Stop",
  stopping: "It stops after this slice, within 15 seconds.",
  stopped: "Stopped. What was moved stays moved.",
  goOn: "Go on",
  moved: (n, of, failed) => `${count(n)} of ${count(of)} moved${failed > 0 ? `; ${count(failed)} could not be moved and stay` : ""}.`,
  outcome: ({ moved, back, reasons, isWhole, waiting, isOver }) => {
    const named = back === 0 ? "None came back" : `${count(back)} came back: ${reasons.join(", ")}`;
    const returned = isWhole ? named : `${named}, as far as the list shows`;
    const stored = isWhole ? `: ${count(Math.max(0, moved - back))} of ${count(moved)} stored` : "";
    return isOver
      ? `${returned}. The retry lane is empty${stored}.`
      : `${returned}. The retry lane still holds ${waiting === undefined ? "an unknown number" : count(waiting)}.`;
  },
  discard: "Discard",
  discardNote: (what) => `Deletes ${what} for good. Their events are lost.`,
  typeCount: "Type their number to confirm",
  discardNow: "Discard",
  discarded: (n, failed) => `${count(n)} discarded${failed > 0 ? `; ${count(failed)} could not be deleted` : ""}.`,

  audit: "What operators did",
  auditCaption: (n) => `The newest ${n === 1 ? "action" : `${count(n)} actions`}`,
  auditLocal: "From the logs of this stage’s functions: redrives, discards, returns, closed connections, and bodies that were read.",
  auditAws: "Each action is a line in the functions’ logs. Ask CloudWatch Logs Insights for it, for manage_dead_letters and return_parked:",
  auditQuery: 'fields @timestamp, operator, message, filter.reason, moved, discarded, returned | filter kind = "audit"',
  noActions: "Nothing yet.",
  all: "all",
};
