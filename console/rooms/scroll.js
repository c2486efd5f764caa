// A long list of rows of which only those near the screen are in the page. What is on the screen stays where it is when
// rows are added, or turn out to be higher than was thought.
import { Component, html, useEffect, useLayoutEffect, useReducer, useRef } from "../htm.js";

const BEYOND = 600; // pixels that are drawn above and below the screen
const SPARE = 200; // of them, what is left when more are drawn
const NEAR = 2_000; // pixels from an end of the list at which its next page is read
const AT_END = 24; // pixels from the end that count as the end

/** Where each row begins; at the end, how high all are. `former` is used again if it has the length. */
function offsetsOf(rows, guess, former) {
  const offsets = former?.length === rows.length + 1 ? former : new Float64Array(rows.length + 1);
  rows.forEach((row, index) => {
    offsets[index + 1] = offsets[index] + (row.height ?? guess);
  });
  return offsets;
}

/** The number of the row at a height. */
function rowAt(offsets, height) {
  let [low, high] = [0, Math.max(0, offsets.length - 2)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    [low, high] = offsets[middle] <= height ? [middle, high] : [low, middle - 1];
  }
  return low;
}

/** What a list knows beside its rows. */
class Place {
  /** Whether the end stays on the screen; else `row` does, `below` pixels under the upper edge. */
  atEnd = true;
  /** What was said of it. */
  told;
  row;
  below = 0;
  range = [0, 0];
  measured = { sum: 0, count: 0 };
  height = 600;
  width = 0;
  target;
  offsets;

  get guess() {
    return this.measured.count === 0 ? 44 : this.measured.sum / this.measured.count;
  }

  /** Go to a target: a row and where it is to be on the screen, from 0 to 1; without a row, to the end. */
  go(target, rows) {
    this.target = target;
    this.row = target?.row;
    this.atEnd = !rows.includes(this.row);
    this.below = (target?.place ?? 0) * this.height;
  }

  /** The upper edge of the screen, in pixels of the list. Rows can have come behind those that have an offset. */
  top(rows, offsets) {
    const index = this.atEnd || this.row === undefined ? -1 : rows.indexOf(this.row);
    return index === -1 ? offsets.at(-1) - this.height : offsets[index] - this.below;
  }

  /** The rows to draw. */
  cover(rows, offsets) {
    const top = this.top(rows, offsets);
    this.range = offsets.length === 1
      ? [0, 0]
      : [rowAt(offsets, top - BEYOND), rowAt(offsets, top + this.height + BEYOND) + 1];
  }

  covers(rows, offsets) {
    const top = this.top(rows, offsets);
    const [start, end] = this.range;
    return (start === 0 || offsets[start] < top - SPARE)
      && (end >= offsets.length - 1 || offsets[end] > top + this.height + SPARE);
  }
}

/**
 * A row that stays as it was drawn until one of its parts changes. To give the page the same virtual nodes again would do
 * that too, but each keeps the list that it was first drawn in, and so every row that was ever there. So does an element
 * without values, which htm makes only once: rows have none.
 */
class Kept extends Component {
  shouldComponentUpdate({ parts }) {
    return parts.some((each, number) => each !== this.props.parts[number]);
  }

  render({ of, index, draw }) {
    of.isNew = true;
    return draw(index);
  }
}

/**
 * `row(index)` draws a row, and `parts(index)` is what it depends on: a row is drawn again when one of them changes.
 * `target` is where to go: another object goes there again. `above()` is shown before the first row. `follows`: at the end,
 * new rows move the list up. `near(name)` asks for "older" or "newer" rows, `sees(atEnd)` says whether the end is on the
 * screen, and `goToEnd()` is the key End.
 */
export function Scroll({ rows, row, parts, target, above, follows, label, near, sees, goToEnd, boxRef }) {
  const own = useRef(null);
  const box = boxRef ?? own;
  const list = useRef(null);
  const place = useRef(undefined);
  place.current ??= new Place();
  const here = place.current;
  const [, redraw] = useReducer((n) => n + 1, 0);

  if (target !== here.target) {
    here.go(target, rows);
  }
  const offsets = (here.offsets = offsetsOf(rows, here.guess, here.offsets));
  here.cover(rows, offsets);
  const [start, end] = here.range;
  const drawn = rows.slice(start, end).map((each, number) => html`
    <${Kept} key=${each.id} of=${each} index=${start + number} parts=${parts(start + number)} draw=${row} />
  `);

  /** Set the distances around the drawn rows, and the scroll position. */
  const settle = () => {
    const { style } = list.current;
    style.paddingTop = `${offsets[start]}px`;
    style.paddingBottom = `${offsets.at(-1) - offsets[end]}px`;
    const { scrollHeight, clientHeight, scrollTop } = box.current;
    const wanted = here.atEnd ? scrollHeight - clientHeight : list.current.offsetTop + here.top(rows, offsets);
    const possible = Math.max(0, Math.min(wanted, scrollHeight - clientHeight));
    if (Math.abs(possible - scrollTop) >= 1) {
      box.current.scrollTop = possible;
    }
    notice(possible);
  };

  /** Whether the end is on the screen now. */
  const notice = (scrollTop) => {
    const { scrollHeight, clientHeight } = box.current;
    here.atEnd = follows && scrollHeight - scrollTop - clientHeight <= AT_END;
    if (here.atEnd !== here.told) {
      here.told = here.atEnd;
      sees(here.atEnd);
    }
  };

  const look = () => {
    const { scrollHeight, clientHeight, scrollTop } = box.current;
    const top = scrollTop - list.current.offsetTop;
    if (top < NEAR) {
      near("older");
    }
    if (scrollHeight - scrollTop - clientHeight < NEAR) {
      near("newer");
    }
  };

  useLayoutEffect(() => {
    here.height = box.current.clientHeight;
    let isChanged = false;
    for (const [number, element] of [...list.current.children].entries()) {
      const each = rows[start + number];
      if (each.height !== undefined && !each.isNew) {
        continue;
      }
      each.isNew = false;
      const { height } = element.getBoundingClientRect();
      if (Math.abs((each.height ?? -1) - height) > 0.1) {
        here.measured.sum += height - (each.height ?? 0);
        here.measured.count += each.height === undefined ? 1 : 0;
        each.height = height;
        isChanged = true;
      }
    }
    if (isChanged) {
      offsetsOf(rows, here.guess, offsets);
    }
    settle();
    if (!here.covers(rows, offsets)) {
      redraw();
    }
  });

  useEffect(look, [rows.length, target]);

  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width !== here.width) {
        here.width = contentRect.width;
        here.measured = { sum: 0, count: 0 };
        here.forget?.();
      }
      redraw();
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  here.forget = () => rows.forEach((each) => { each.height = undefined; });

  const scrolled = () => {
    const { scrollTop } = box.current;
    const top = scrollTop - list.current.offsetTop;
    notice(scrollTop);
    const index = rowAt(offsets, Math.max(0, top));
    here.row = rows[index];
    here.below = offsets[index] - top;
    if (!here.covers(rows, offsets)) {
      redraw();
    }
    look();
  };

  const pressed = (event) => {
    // The browser would scroll there smoothly, and stop where a page comes meanwhile.
    if (event.key === "End" && event.target === box.current) {
      event.preventDefault();
      goToEnd();
    }
  };

  return html`
    <div class="log" ref=${box} tabindex="0" role="log" aria-label=${label} aria-live=${follows && here.atEnd ? "polite" : "off"}
      onScroll=${scrolled} onKeyDown=${pressed}>
      ${above()}
      <ol ref=${list}>${drawn}</ol>
    </div>
  `;
}
