// Windows of time: as part of an address, as the API takes them, and as people read them.

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** The windows that end now, in seconds. */
export const LASTS = [300, HOUR, DAY];
const DEFAULT = { last: HOUR };

/**
 * The window of the parts of an address, and the parts after it: ["last", "300"] ends now, and two times are a fixed
 * one. Without a valid window, it is the last hour.
 */
export function windowOf([first, second, ...rest]) {
  if (first === "last" && /^[1-9][0-9]{0,9}$/.test(second)) {
    return [{ last: Number(second) }, rest];
  }
  const [from, to] = [Date.parse(first), Date.parse(second)];
  return Number.isNaN(from + to) ? [DEFAULT, []] : [{ from, to }, rest];
}

/** The parts of an address for a window. */
export const partsOf = ({ last, from, to }) =>
  last !== undefined ? ["last", String(last)] : [new Date(from).toISOString(), new Date(to).toISOString()];

/** An address in a view: a name, a window or none, and more parts. */
export const addressOf = (view, name, window, ...more) =>
  `#/${[view, name, ...(window === undefined ? [] : partsOf(window)), ...more].map(encodeURIComponent).join("/")}`;

/** The address of a question. */
export const address = (...parts) => addressOf("questions", ...parts);

/** The parameters of the API: a window that ends now ends at this second. */
export function bounds({ last, from, to }) {
  const end = last === undefined ? to : Math.floor(Date.now() / 1_000) * 1_000;
  const start = last === undefined ? from : end - last * 1_000;
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() };
}

/** The seconds of a step, so that a series has at most about 200 points. */
export function stepOf({ from, to }) {
  const seconds = (Date.parse(to) - Date.parse(from)) / 1_000;
  return seconds <= 3 * HOUR ? MINUTE : seconds <= 7 * DAY ? HOUR : DAY;
}

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const two = (number) => String(number).padStart(2, "0");

/** A time as the value of an input of the type datetime-local, in the reader's zone. */
export function toInput(milliseconds) {
  const at = new Date(milliseconds);
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

const formats = {
  [MINUTE]: new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hour12: false }),
  [HOUR]: new Intl.DateTimeFormat([], { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false }),
  [DAY]: new Intl.DateTimeFormat([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false }),
};

/** Writes the beginning of a point of a series. */
export const pointAt = (step) => (milliseconds) => formats[step].format(milliseconds);
