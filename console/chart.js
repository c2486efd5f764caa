// A chart over time, as an SVG: lines or bars, an axis, and the values under the pointer. uPlot would be 22 of the 60 kB
// that the console may have.
import { html, useState } from "./htm.js";
import { count, texts } from "./texts.js";

const WIDTH = 600;

/** The smallest of 1, 2, 3, 4, 5, 6, 8, 10, 20, 30 … that is not below `value`. */
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((each) => each >= value);
}

/**
 * `times`: milliseconds, rising. `lines`: rows of `{ name, values, tone }`, with `undefined` where nothing is known;
 * `tone` is a token of the stylesheet, such as "accent", "busy" or "bad". `show` and `at` write a value and a time.
 */
export function Chart({ title, times, lines, bars = false, height = 120, show = count, at }) {
  const [under, setUnder] = useState();
  const highest = round(Math.max(1e-9, ...lines.flatMap(({ values }) => values.filter((value) => value > 0))) || 1);
  const top = highest > 1e-6 ? highest : 1;
  const [first, last] = [times[0], times.at(-1)];
  const step = bars ? WIDTH / times.length : 0;
  const x = (i) => (bars ? (i + 0.5) * step : last > first ? ((times[i] - first) / (last - first)) * WIDTH : WIDTH);
  const y = (value) => height - (value / top) * (height - 2) - 1;
  const move = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * WIDTH;
    const near = times.reduce((best, _, i) => (Math.abs(x(i) - wanted) < Math.abs(x(best) - wanted) ? i : best), 0);
    setUnder(near);
  };
  const chosen = under !== undefined && under < times.length ? under : times.length - 1;
  const shown = (value) => (value === undefined ? "–" : show(value));
  const newest = lines.map(({ name, values }) => `${name} ${shown(values.at(-1))}`).join(", ");
  return html`
    <figure class="chart">
      <figcaption>
        <b>${title}</b>
        ${lines.map(
          ({ name, values, tone = "accent" }) => html`
            <span class=${`key tone-${tone}`}>${name}
              ${(!bars || under !== undefined) && html` <b>${shown(values[chosen])}</b>`}</span>
          `,
        )}
      </figcaption>
      <div class="plot">
        <svg viewBox=${`0 0 ${WIDTH} ${height}`} height=${height} preserveAspectRatio="none" role="img"
          aria-label=${texts.chart(title, newest)} onPointerMove=${move} onPointerLeave=${() => setUnder(undefined)}>
          <path class="grid" d=${`M0 1H${WIDTH}M0 ${height / 2}H${WIDTH}M0 ${height - 1}H${WIDTH}`} />
          ${lines.map(({ name, values, tone = "accent" }) => {
            const known = values.map((value, i) => [i, value]).filter(([, value]) => value !== undefined);
            return bars
              ? known.map(([i, value]) => html`
                  <rect key=${name + i} class=${`bar tone-${tone}`} x=${x(i) - step * 0.4} width=${step * 0.8}
                    y=${y(value)} height=${Math.max(0, height - 1 - y(value))} />`)
              : html`<polyline key=${name} class=${`tone-${tone}`}
                  points=${known.map(([i, value]) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />`;
          })}
          ${under !== undefined && html`<path class="cursor" d=${`M${x(chosen)} 0V${height}`} />`}
        </svg>
        ${highest > 1e-6 && html`<span class="highest">${show(top)}</span>`}
      </div>
      ${at !== undefined && times.length > 0 && html`
        <p class="axis"><span>${at(first)}</span><span>${under !== undefined && at(times[chosen])}</span><span>${at(last)}</span></p>
      `}
    </figure>
  `;
}
