// The drawing of an event's way: what flows moves, what holds events is marked.
import { html, useEffect, useState } from "../htm.js";
import { localTexts } from "../texts.js";

const BOX = [118, 46];
const WIDE = {
  size: [810, 210],
  clients: [65, 45], receive: [235, 45], broker: [405, 45], persist: [575, 45], rows: [745, 45],
  retry: [405, 165], dead: [235, 165], push: [575, 165], readers: [745, 165],
};
const NARROW = {
  size: [340, 420],
  clients: [85, 40], receive: [85, 125], broker: [85, 210], persist: [85, 295], rows: [85, 380],
  retry: [255, 210], dead: [255, 125], push: [255, 295], readers: [255, 380],
};
const EDGES = [
  ["clients", "receive"], ["receive", "broker"], ["broker", "persist"], ["persist", "rows"], ["receive", "retry"],
  ["retry", "persist"], ["retry", "dead"], ["persist", "push"], ["push", "readers"],
];

/** A line from the border of one box to that of another. */
function path(from, to) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const share = Math.min(
    dx === 0 ? Infinity : (BOX[0] / 2 + 3) / Math.abs(dx),
    dy === 0 ? Infinity : (BOX[1] / 2 + 3) / Math.abs(dy),
  );
  const [x, y] = [dx * share, dy * share];
  return `M${from[0] + x} ${from[1] + y}L${to[0] - x} ${to[1] - y}`;
}

function useNarrow() {
  const [query] = useState(() => matchMedia("(max-width: 640px)"));
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

export function Way({ rates, balance, held, brokerAway }) {
  const at = useNarrow() ? NARROW : WIDE;
  const { parts } = balance;
  // Nothing leads to or from a broker that is away: what it had was stored before.
  const flowing = {
    "clients receive": rates.accepted > 0,
    "receive broker": rates.accepted > rates.retry && !brokerAway,
    "receive retry": rates.retry > 0,
    "broker persist": rates.stored > rates.storedRetry && !brokerAway,
    "retry persist": rates.storedRetry > 0,
    "persist rows": rates.stored > 0,
    "persist push": rates.pushed > 0,
    "push readers": rates.pushed > 0,
  };
  const notes = {
    broker: brokerAway ? localTexts.brokerAway : localTexts.ready(held.main),
    rows: localTexts.rows(parts.stored),
    retry: localTexts.waiting(held.retry === undefined ? undefined : Math.max(parts.retry, held.retry)),
    dead: localTexts.waiting(held.dead),
  };
  const tones = {
    broker: brokerAway ? "bad" : "",
    retry: parts.retry > 0 || held.retry > 0 ? "busy" : "",
    dead: held.dead > 0 ? "bad" : "",
  };
  return html`
    <section class="way" aria-labelledby="way-title">
      <h2 id="way-title">${localTexts.way}</h2>
      <svg viewBox=${`0 0 ${at.size[0]} ${at.size[1]}`} role="img"
        aria-label=${localTexts.wayLabel(notes)}>
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4" markerHeight="4" orient="auto">
            <path d="M0 0L8 4L0 8z" />
          </marker>
        </defs>
        ${EDGES.map(
          ([from, to]) => html`
            <path class=${`edge ${flowing[`${from} ${to}`] ? "flows" : ""} ${from === "retry" || to === "retry" ? "retry" : ""}`}
              d=${path(at[from], at[to])} marker-end="url(#tip)" />
          `,
        )}
        ${Object.entries(localTexts.nodes).map(
          ([name, label]) => html`
            <g class=${`node ${tones[name] ?? ""}`}
              transform=${`translate(${at[name][0] - BOX[0] / 2} ${at[name][1] - BOX[1] / 2})`}>
              <rect width=${BOX[0]} height=${BOX[1]} rx="8" />
              <text x=${BOX[0] / 2} y=${notes[name] === undefined ? 28 : 20}>${label}</text>
              ${notes[name] !== undefined && html`<text class="small" x=${BOX[0] / 2} y="37">${notes[name]}</text>`}
            </g>
          `,
        )}
      </svg>
    </section>
  `;
}
