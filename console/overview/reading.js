// Reads counts and status every 2 seconds: on a local stage also while another view is open, never in a hidden tab.
import { useEffect, useState } from "../htm.js";
import { local } from "../session.js";
import { Balance, depths, sumOf } from "./balance.js";

const EVERY = 2_000; // milliseconds: as long as an answer of GET /status is kept
const KEPT = 15 * 60 * 1_000; // milliseconds

const METRICS = {
  accepted: ["Accepted"], stored: ["Stored"], pushed: ["LivePushed", "sent"], retry: ["Accepted", "retry"],
  storedRetry: ["Stored", "retry"],
};

function reader(session) {
  const operator = session.client("ops");
  const balance = session.isLocal ? new Balance() : undefined;
  const since = {};
  const held = []; // of earlier readings: [time, depths, ages]
  let before;
  return async () => {
    const [counts, status] = await Promise.all([
      session.isLocal ? local("/console/counts") : undefined, operator.request("GET /status", {}, { retryTimeout: 0 }),
    ]);
    const now = Date.now();
    const depth = depths(status);
    const ages = {};
    for (const [name, number] of Object.entries(depth)) {
      since[name] = number === 0 ? undefined : since[name] ?? (number && now);
      ages[name] = number && now - since[name];
    }
    held.push([now, depth, ages]);
    held.splice(0, held.findIndex(([at]) => at > now - KEPT));
    if (!session.isLocal) {
      return { now, status, held };
    }
    const sums = Object.fromEntries(Object.entries(METRICS).map(([name, metric]) => [name, sumOf(counts, ...metric)]));
    const seconds = before === undefined ? 1 : (now - before.now) / 1_000;
    const grown = Object.entries(sums).map(([name, sum]) => [name, Math.max(0, sum - (before?.sums ?? sums)[name])]);
    before = { now, sums };
    const rates = Object.fromEntries(grown.map(([name, number]) => [name, number / seconds]));
    return { now, status, held, counts, rates, balance: balance.take(counts, status, now) };
  };
}

const views = new Set();
let last = {};
let isRunning = false;

/** `{ seen, error }`: the last reading, and why the newest one failed. */
export function useReading(session) {
  const [result, setResult] = useState(last);
  useEffect(() => {
    views.add(setResult);
    if (!isRunning) {
      isRunning = true;
      const read = reader(session);
      const look = async () => {
        if (!document.hidden && (session.isLocal || views.size > 0)) {
          last = await read().then((seen) => ({ seen }), (error) => ({ seen: last.seen, error }));
          views.forEach((show) => show(last));
        }
        setTimeout(look, EVERY);
      };
      look();
    }
    return () => views.delete(setResult);
  }, []);
  return result;
}
