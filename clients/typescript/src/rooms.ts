import type { Connection, Frame } from "./connection.js";
import { Channel } from "./channel.js";
import { errorOf, HeadraceError, known } from "./errors.js";
import { Following } from "./following.js";
import { Key } from "./key.js";
import { type Ask, type Resumed, Room, restAfter } from "./room.js";
import { between, type Settings, sleep } from "./settings.js";
import type { ErrorBody, Fields, Pushed, Signal, StreamEvent, UserChange } from "./types.js";

const ROOMS_PER_FRAME = 20;

type Answered = Resumed | { error: unknown };

interface Followed {
  room: Room;
  following: Following<any>;
  /** Whether a late frame is waited for. */
  waits: boolean;
  /** Whether messages were left out because too many wait for the loop. */
  behind: boolean;
}

/** Follows rooms, the channel of the user, and keys of declared streams, over one connection. */
export class Rooms {
  /** By the `key` of the room, the channel or the key. */
  #followed = new Map<string, Followed>();
  /** Rooms that are being left: a new subscription waits for the answer. */
  #leaving = new Map<string, Promise<unknown>>();
  #checking: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly settings: Settings,
    private readonly onSignal: (signal: Signal) => void,
  ) {}

  follow(roomId: string, since: string | undefined, known: Iterable<{ key: string }>): Following {
    const following = new Following(roomId, since, () => this.#leave(room), () => this.#caughtUp(room));
    const room = new Room(roomId, since, known, this.#ask, following);
    this.#add(room, following);
    return following;
  }

  followUser(userId: string, since: string | undefined): Following<UserChange> {
    const following = new Following<UserChange>(userId, since, () => this.#leave(channel), () => this.#caughtUp(channel));
    const channel = new Channel(userId, since, [], this.#ask, following);
    this.#add(channel, following);
    return following;
  }

  followKey<T extends StreamEvent | "missed">(stream: string, id: string, since: string | undefined): Following<T> {
    const following = new Following<T>(id, since, () => this.#leave(key), () => this.#caughtUp(key));
    const key = new Key(stream, id, since, this.#ask, following);
    this.#add(key, following);
    return following;
  }

  /** Subscribe to all rooms, and fetch what was stored meanwhile. */
  opened(): void {
    void this.#check();
  }

  /** The connection ended for good. */
  closed(reason: HeadraceError): void {
    clearTimeout(this.#checking);
    for (const { following } of this.#followed.values()) {
      following.end(reason.code === "closed" ? undefined : reason);
    }
    this.#followed.clear();
  }

  /** Take a pushed frame. */
  received(frame: Frame): void {
    const followed = this.#followed.get(keyOf(frame));
    if (followed === undefined) {
      return;
    }
    if (frame.type === "signal") {
      this.onSignal(frame as unknown as Signal);
    } else if (frame.type === "roomDeleted") {
      this.#stop(followed, new HeadraceError("not_found", "deleted"));
    } else if ("items" in frame && !this.#isFull(followed)) {
      if (followed.room.receive(frame as unknown as Pushed)) {
        void this.#resume([followed]);
      } else if (followed.room.hasHole && !followed.waits) {
        void this.#closeHole(followed);
      }
    }
  }

  #ask: Ask = (...frame) => this.connection.request(...frame);

  #add(room: Room, following: Followed["following"]): void {
    if (this.#followed.has(room.key)) {
      throw new HeadraceError("conflict", `${room.id} is followed already`);
    }
    const followed = { room, following, waits: false, behind: false };
    this.#followed.set(room.key, followed);
    void this.#begin(followed);
  }

  async #begin(followed: Followed): Promise<void> {
    const { room } = followed;
    while (this.#isFollowed(followed)) {
      try {
        await this.#leaving.get(room.key);
        const wasOpen = this.connection.state === "open";
        await this.connection.whenOpen();
        if (room.position === undefined) {
          await room.subscribe();
        } else if (wasOpen) {
          await this.#resume([followed]); // else `opened` resumes it
        }
        return;
      } catch (error) {
        const refused = known(error);
        if (!refused.temporary) {
          this.#stop(followed, refused);
        } else {
          await (refused.code === "rate_limited" ? restAfter(refused) : sleep(between(0, this.settings.firstPause)));
        }
      }
    }
  }

  #leave(room: Room): void {
    const { key } = room;
    this.#followed.delete(key);
    const left = room.leave().catch(() => {}); // it ends with the connection too
    this.#leaving.set(key, left);
    void left.then(() => this.#leaving.get(key) === left && this.#leaving.delete(key));
  }

  #isFollowed(followed: Followed): boolean {
    return this.#followed.get(followed.room.key) === followed;
  }

  /** Whether so many messages wait for the loop that no more are taken: they are fetched when it has caught up. */
  #isFull(followed: Followed): boolean {
    const isFull = followed.following.waiting + followed.room.fetched >= this.settings.mostWaiting;
    followed.behind ||= isFull;
    return isFull;
  }

  #caughtUp(room: Room): void {
    const followed = this.#followed.get(room.key);
    if (followed?.room === room && followed.behind && followed.following.waiting === 0) {
      followed.behind = false;
      void this.#resume([followed]);
    }
  }

  #stop(followed: Followed, error: HeadraceError): void {
    if (this.#isFollowed(followed)) {
      this.#followed.delete(followed.room.key);
      followed.following.end(error);
    }
  }

  /** Resume all rooms, now and every few minutes: the last frame of a room can be lost without a notice. */
  async #check(): Promise<void> {
    clearTimeout(this.#checking);
    const wait = between(0.6, 1) * this.settings.checkInterval;
    this.#checking = setTimeout(() => void this.#check(), wait);
    await this.#resume([...this.#followed.values()].filter(({ room }) => room.position !== undefined));
  }

  /** Wait a moment for a frame that is perhaps only late; then ask for it. */
  async #closeHole(followed: Followed): Promise<void> {
    followed.waits = true;
    await sleep(between(0.5, 1) * this.settings.lateFrame);
    followed.waits = false;
    if (followed.room.hasHole && this.#isFollowed(followed)) {
      await this.#resume([followed]);
    }
  }

  /** Resume rooms from their positions. Without an answer another connection is opened, which resumes all. */
  async #resume(rooms: Followed[]): Promise<void> {
    const { opens } = this.connection;
    for (let start = 0; start < rooms.length; start += ROOMS_PER_FRAME) {
      const begun = rooms.slice(start, start + ROOMS_PER_FRAME).filter((each) => !this.#isFull(each) && each.room.begin());
      try {
        await this.#resumeBegun(begun);
      } catch (error) {
        const reason = known(error);
        if (reason.temporary) {
          this.connection.reconnect(opens);
          return;
        }
        begun.forEach((each) => this.#stop(each, reason));
      } finally {
        begun.forEach(({ room }) => room.end());
      }
      begun.forEach(({ room }) => this.#caughtUp(room)); // the loop perhaps had all that was fetched
    }
  }

  /** Resume until nothing is missed. A limited room is tried once more, and then in the next round. */
  async #resumeBegun(rooms: Followed[]): Promise<void> {
    const limited = new Set<Followed>();
    while (rooms.length > 0) {
      const alone = rooms.filter(({ room }) => room.place === undefined);
      const together = rooms.filter(({ room }) => room.place !== undefined);
      const answer = await this.#allAnswers([together, ...alone.map((each) => [each])]);
      const again: Followed[] = [];
      let rest: HeadraceError | undefined;
      for (const followed of rooms.filter((each) => this.#isFollowed(each))) {
        try {
          const found = answer.get(followed.room.key);
          if (found !== undefined && "error" in found) {
            throw errorOf(found.error as unknown as ErrorBody);
          }
          if ((await followed.room.take(found)) && !this.#isFull(followed)) {
            again.push(followed);
          }
        } catch (error) {
          const refused = known(error);
          if (!refused.temporary) {
            this.#stop(followed, refused);
          } else if (refused.code !== "rate_limited") {
            throw refused;
          } else if (!limited.has(followed)) {
            limited.add(followed);
            again.push(followed);
            rest = refused;
          }
        }
      }
      if (rest !== undefined) {
        await restAfter(rest);
      }
      rooms = again.filter((each) => this.#isFollowed(each));
    }
  }

  /** The answer for each room, channel and key, by its `key`; a frame asks for each group. */
  async #allAnswers(groups: Followed[][]): Promise<Map<string, Answered>> {
    const answers = await Promise.all(groups.filter((each) => each.length > 0).map((each) => this.#answers(each)));
    return new Map(answers.flatMap((each) => [...each]));
  }

  async #answers(rooms: Followed[]): Promise<Map<string, Answered>> {
    for (;;) {
      try {
        return await this.#askFor(rooms);
      } catch (error) {
        const refused = known(error);
        if (refused.code === "rate_limited") {
          await restAfter(refused);
        } else if (refused.temporary) {
          throw refused;
        } else if (rooms.length > 1) {
          // One of them is wrong, such as its `since`: it must not end the others.
          return this.#allAnswers(rooms.map((each) => [each]));
        } else {
          rooms.forEach((each) => this.#stop(each, refused));
          return new Map();
        }
      }
    }
  }

  async #askFor(rooms: Followed[]): Promise<Map<string, Answered>> {
    const first = rooms[0]?.room;
    if (first instanceof Key) {
      return new Map([[first.key, await first.follow()]]);
    }
    const positions: Fields<"resume"> = {};
    for (const place of ["rooms", "users"] as const) {
      const those = rooms.filter(({ room }) => room.place === place);
      if (those.length > 0) {
        positions[place] = Object.fromEntries(those.map(({ room }) => [room.id, room.position as string]));
      }
    }
    const found = await this.connection.request("resume", positions);
    const answers = new Map<string, Answered>(Object.entries(found.rooms));
    Object.entries(found.users ?? {}).forEach(([userId, each]) => answers.set(Channel.key(userId), each));
    return answers;
  }
}

/** The `key` of what a pushed frame is about. */
function keyOf(frame: Frame): string {
  if (frame.type === "changes") {
    return Channel.key(frame["userId"] as string);
  }
  return frame.type === "events" ? Key.key(frame["stream"] as string, frame["key"] as string) : (frame["roomId"] as string);
}
