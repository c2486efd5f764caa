// All texts of the console. Each is plain text, or a function that returns plain text. `texts` has those of the frame
// and of the first screen; each other view has its own object below.

const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const count = (value) => number.format(value);
export const clock = (milliseconds) => time.format(milliseconds);

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

  rates: "Last 15 minutes",
  ratesNote: "Per second, since this page was opened.",
  rateNames: { accepted: "accepted", stored: "stored", pushed: "pushed" },
  rate: (value) => `${value < 10 ? value.toFixed(1) : count(Math.round(value))}/s`,

  lanes: "Lanes",
  lane: "lane",
  laneState: "state",
  laneHolds: "holds",
  laneAge: "age",
  laneNames: { main: "main", retry: "retry", dead: "dead", parked: "parked" },
  stored: (age) => `stored within ${age}`,
  holding: (age) => `for ${age}`,
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

  tools: "Try it",
  toolsNote: "Only on the local stage.",
  traffic: "Send traffic",
  trafficRuns: "Sending …",
  trafficDone: (n) => `${count(n)} messages sent to #traffic`,
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
  took: (ms) => `accepted after ${duration(ms)}`,
  sendAgain: "Send again",
  discard: "Discard",

  members: "Members",
  closeMembers: "Close the members",
  roles: { owner: "owner", member: "member" },
  interval: (from, to) => (to === null ? `since ${from}` : from === null ? `until ${to}` : `${from} – ${to}`),
  intervalsSince: (at) => `Joins and leaves are known since ${at}, as far as messages are loaded.`,
  readOn: "Read earlier ones",
  noMembers: "Nobody has joined this room. Everyone can read and write.",
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
export const questionsTexts = {};

/** The view #/dead-letters. */
export const deadLettersTexts = {};
