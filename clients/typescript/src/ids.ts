let last = 0;
let counter = 0;

/**
 * A new UUIDv7 with this time in milliseconds. Those of one program are in ascending order, as the rows of a room with
 * the same time are.
 */
export function newId(now: number): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  counter += 1;
  if (now > last || counter > 0xfff) {
    last = Math.max(Math.floor(now), last + (counter > 0xfff ? 1 : 0));
    counter = ((random[8] as number) << 2) & 0x3ff; // the upper half is left for counting
  }
  const time = last.toString(16).padStart(12, "0");
  const digits = hex(random.subarray(0, 8));
  const variant = (8 + ((random[9] as number) & 3)).toString(16);
  const count = counter.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${variant}${digits.slice(0, 3)}-${digits.slice(3, 15)}`;
}
