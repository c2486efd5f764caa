// Days and times, in the zone and the locale of the reader.

const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const brief = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const DAY = 86_400_000;
const midnight = (moment) => new Date(moment).setHours(0, 0, 0, 0);
const daysAgo = (moment) => Math.round((midnight(Date.now()) - midnight(moment)) / DAY);
const capital = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);

/** Whether two moments are on one day of the reader. */
export const sameDay = (one, other) => midnight(one) === midnight(other);

export const clock = (moment) => time.format(Date.parse(moment));
export const moment = (at) => full.format(Date.parse(at));
export const dayAndTime = (at) => brief.format(Date.parse(at));

/** A day as a heading: "Today", "Thursday 26 November", with the year where it is not this one. */
export function dayName(at) {
  const date = Date.parse(at);
  const ago = daysAgo(date);
  if (ago === 0 || ago === 1) {
    return capital(relative.format(-ago, "day"));
  }
  return (new Date(date).getFullYear() === new Date().getFullYear() ? day : dayOfYear).format(date);
}

/** A time of today, else a day: for lists. */
export const when = (at) => (daysAgo(Date.parse(at)) === 0 ? clock(at) : short.format(Date.parse(at)));
