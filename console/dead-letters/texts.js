// All texts of the view #/dead-letters.
import { clock, count, read } from "../texts.js";

export const texts = {
  needsScope: "The dead lane is for operators: it needs the scope ops.",
  needsScopeHelp: "Sign in as a user with that scope. On AWS, the how-to “Access and secrets” says how operators sign in.",
  title: "Letters in the dead lane",
  scanning: "Reading the dead lane: up to 4 seconds …",
  reading: "Reading …",
  readAgain: "Read again",
  held: (held, { count: found, scanned, complete }) => {
    const about = `The queue holds about ${read(held)}, by a count that can be seconds old.`;
    if (!complete) {
      return `Only ${count(scanned)} letters were read: numbers and lists are of these. ${about}`;
    }
    return held === found ? `The queue holds ${count(held)}.` : `${about} What someone else reads now is not shown.`;
  },
  none: "The dead lane is empty.",
  noneHelp: "A record that the retry lane could not store in five tries comes here.",
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
    day: "day", firstFailed: "first failed", reason: "reason", stream: "stream", events: "events", tries: "tries", letter: "letter", message: "why",
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
    tries: (tries, received) => `${count(tries)} tries to store it: those in the main lane, and five each time in the retry lane. Received ${count(received)} times from the queue`,
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
  redriveNow: ({ count: n, complete }) => (complete ? `Redrive ${count(n)}` : `Redrive all, at least ${count(n)}`),
  progress: "Letters that were moved",
  stop: "Stop",
  stopping: "It stops after this slice, within 15 seconds.",
  stopped: "Stopped. What was moved stays moved.",
  goOn: "Go on",
  noAnswer: "How many letters the last slice moved is not known. What was moved stays moved.",
  moved: ({ moved, failed, done }, of) => [
    of === undefined ? `${count(moved)} moved.` : `${count(moved)} of ${count(of)} moved.`,
    failed > 0 && `${count(failed)} could not be moved and stay.`,
    done && moved + failed < of && "The others were not found: another redrive, a discard or an erasure has them.",
  ].filter(Boolean).join(" "),
  outcome: ({ moved, back, reasons, isWhole, waiting, isOver, at }) => {
    const named = back === 0 ? "None came back" : `${count(back)} came back: ${reasons.join(", ")}`;
    const returned = isWhole ? named : `${named}, as far as the list shows`;
    const stored = isWhole ? `: ${count(Math.max(0, moved - back))} of ${count(moved)} stored` : "";
    return isOver
      ? `${returned}. The retry lane is empty${stored}.`
      : `So far, at ${clock(at)}: ${returned}. The retry lane holds ${read(waiting)}.`;
  },
  discard: "Discard",
  discardNote: (what) => `Deletes ${what} for good. Their events are lost.`,
  typeCount: "Type their number to confirm",
  discardNow: "Discard",
  discarded: (n, failed) => `${count(n)} discarded${failed > 0 ? `; ${count(failed)} could not be deleted` : ""}.`,

  audit: "What operators did",
  auditAws: "Each action is a line in the functions’ logs. Ask CloudWatch Logs Insights for it, for manage_dead_letters and return_parked:",
  auditQuery: 'fields @timestamp, operator, message, filter.reason, moved, discarded, returned | filter kind = "audit"',
};

/** The texts of what only a local stage shows. They are not published. */
export const localTexts = {
  audit: "From the logs of this stage’s functions: redrives, discards, returns, closed connections, and bodies that were read.",
  caption: (n) => `The newest ${n === 1 ? "action" : `${count(n)} actions`}`,
  columns: { time: "time", operator: "operator", action: "what", filter: "which", result: "how many" },
  none: "Nothing yet.",
  all: "all",
};
