// What became of redriven letters: those that died again are back, with the time of their redrive.

const PAUSE = 2_500; // longer than an answer of GET /status is kept
const LONGEST = 90_000;

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/**
 * Looks until the retry lane is empty, and tells `tell` what it finds: `{ moved, back, reasons, isWhole, waiting, isOver,
 * at }`. Unless `isWhole`, more can be back, because a list has not all letters. `waiting` counts everything in the retry
 * lane, not only these letters.
 */
export async function watch(letters, { startedAt, moved }, isWanted, tell) {
  const end = Date.now() + LONGEST;
  for (let empty = 0; empty < 2 && isWanted() && Date.now() < end; ) {
    await sleep(PAUSE);
    const waiting = await letters.waiting("retry");
    empty = waiting === 0 ? empty + 1 : 0;
    const { items, count, complete } = await letters.list({});
    const back = items.filter(({ redrivenAt }) => redrivenAt === startedAt);
    const reasons = [...new Set(back.map(({ reason }) => reason))];
    const isWhole = complete && count === items.length;
    tell({ moved, back: back.length, reasons, isWhole, waiting, isOver: empty === 2, at: Date.now() });
  }
}
