// All texts of the view #/streams.
import { count } from "../texts.js";

/** A number of any size: large ones, and those near 0, with six digits. */
const number = (value) => {
  const size = Math.abs(value);
  return value === 0 || (size >= 0.01 && size < 1e15) ? count(value) : String(Number(value.toPrecision(6)));
};

const LONGEST = 200; // characters of a field

export const texts = {
  streams: "Declared streams",
  all: "All streams",
  each: "What the window has of each",
  none: "No stream is declared.",
  noneHelp: "Declare one with a file in the folder streams, such as examples/streams/doors.py.",
  unknown: (name) => `There is no stream “${name}”.`,
  columns: { name: "stream", text: "what an event is", key: "key", kept: "kept", events: "events", sums: "sums", time: "time" },
  kept: (days) => (days === 0 ? "without limit" : `${count(days)} ${days === 1 ? "day" : "days"}`),
  number,
  short: (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)} …` : text),
  sums: (sums) => Object.entries(sums).map(([name, { sum }]) => `${name} ${number(sum)}`).join(", "),
  facts: (key, kept) => `Events are read by ${key}, and kept ${kept}.`,

  of: (name, field, key) => `${name}: ${field} ${key}`,
  allOf: (name) => `Every ${name}`,
  sum: (name) => `sum of ${name}`,
  sumOf: ({ events, mean, min, max }) =>
    events === 0 ? "no event has it" : `mean ${number(mean)}, from ${number(min)} to ${number(max)}, of ${count(events)} events`,
  noEvents: "No events in this window.",
  top: (name) => `Most events by ${name}`,
  last: "Last events",
  lastOf: (key) => `Last events of ${key}`,
  noLast: "No event is stored yet.",
  noLastHelp: "Send one with POST /streams/{stream}/events.",
  newest: (n) => (n === 1 ? "The newest event" : `The newest ${count(n)} events`),
  secrets: (names) => `Not shown: ${names.join(", ")}. These are secrets.`,
};
