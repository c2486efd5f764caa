// Reads counts and status every second, and keeps what was read for 15 minutes, also while another view is open.
import { useEffect, useState } from "../htm.js";
import { local } from "../session.js";
import { Balance, depths, sumOf } from "./balance.js";

const EVERY = 1_000;
const KEPT = 900; // seconds

const METRICS = {
  accepted: ["Accepted"], stored: ["Stored"], pushed: ["LivePushed", "sent"], retry: ["Accepted", "retry"],
  storedRetry: ["Stored", "retry"],
};

function reader(operator) {
  const balance = new Balance();
  const history = [];
  const since = {};
  let before;
  let waitSeconds = 0;
  return async () => {
    const [found, status] = await Promise.all([
      local("/console/counts"), operator.request("GET /status", {}, { tries: 1 }),
    ]);
    const now = Date.now();
    const sums = Object.fromEntries(Object.entries(METRICS).map(([name, metric]) => [name, sumOf(found, ...metric)]));
    if (before !== undefined) {
      const seconds = (now - before.now) / 1_000;
      const rates = Object.entries(sums).map(([name, sum]) => [name, Math.max(0, sum - before.sums[name]) / seconds]);
      history.push(Object.fromEntries(rates));
      history.splice(0, history.length - KEPT);
    }
    before = { now, sums };
    const held = depths(status);
    for (const [name, number] of Object.entries(held)) {
      since[name] = number > 0 ? (since[name] ?? now) : undefined;
    }
    waitSeconds = found.waitSeconds || waitSeconds;
    const rates = history.at(-1) ?? Object.fromEntries(Object.keys(METRICS).map((name) => [name, 0]));
    return { now, status, held, since, waitSeconds, history, rates, balance: balance.take(found, status, now) };
  };
}

const views = new Set();
let last = {};
let isRunning = false;

/** `{ seen, failure }`: the last reading, and why the last one failed. */
export function useReading(session) {
  const [result, setResult] = useState(last);
  useEffect(() => {
    views.add(setResult);
    if (!isRunning) {
      isRunning = true;
      const read = reader(session.as("operator", "ops"));
      const look = async () => {
        try {
          last = { seen: await read() };
        } catch (error) {
          last = { seen: last.seen, failure: error.message };
        }
        views.forEach((show) => show(last));
        setTimeout(look, EVERY);
      };
      look();
    }
    return () => views.delete(setResult);
  }, []);
  return result;
}
