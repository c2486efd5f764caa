import type { Connection, Frame } from "./connection.js";
import { Channel } from "./channel.js";
import { errorOf, HeadraceError, known } from "./errors.js";
import { Following } from "./following.js";
import { type Ask, type Resumed, Room, restAfter } from "./room.js";
import { between, type Settings, sleep } from "./settings.js";
import type { ErrorBody, Fields, PushedChanges, PushedMessages, Signal, UserChange } from "./types.js";

const ROOMS_PER_FRAME = 20;

type Answered = Resumed | { error: unknown };

interface Followed {
  room: Room;
  following: Following | Following<UserChange>;
  /** Whether a late frame is waited for. */
  waits: boolean;
  /** Whether messages were left out because too many wait for the loop. */
  behind: boolean;
}

/** Follows rooms, and the channel of the user, over one connection. */
export class Rooms {
  /** By the `key` of the room or channel. */
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
    const isChange = frame.type === "changes";
    const followed = this.#followed.get(isChange ? Channel.key(String(frame["userId"])) : String(frame["roomId"]));
    if (followed === undefined) {
      return;
    }
    if (frame.type === "signal") {
      this.onSignal(frame as unknown as Signal);
    } else if ((isChange || frame.type === "messages") && !this.#isFull(followed)) {
      if (followed.room.receive(frame as unknown as PushedMessages | PushedChanges)) {
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

  #leave({ key, named }: Room): void {
    this.#followed.delete(key);
    const left = this.connection.request("unsubscribe", named).catch(() => {}); // it ends with the connection too
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
      const answer = await this.#answers(rooms);
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

  /** The answer for each room and channel, by its `key`. */
  async #answers(rooms: Followed[]): Promise<Map<string, Answered>> {
    const positions: Fields<"resume"> = {};
    for (const place of ["rooms", "users"] as const) {
      const those = rooms.filter(({ room }) => room.place === place);
      if (those.length > 0) {
        positions[place] = Object.fromEntries(those.map(({ room }) => [room.id, room.position as string]));
      }
    }
    for (;;) {
      try {
        const found = await this.connection.request("resume", positions);
        const answers = new Map<string, Answered>(Object.entries(found.rooms));
        Object.entries(found.users ?? {}).forEach(([userId, each]) => answers.set(Channel.key(userId), each));
        return answers;
      } catch (error) {
        const refused = known(error);
        if (refused.code === "rate_limited") {
          await restAfter(refused);
        } else if (refused.temporary) {
          throw refused;
        } else if (rooms.length > 1) {
          // One of them is wrong, such as its `since`: it must not end the others.
          const answers = await Promise.all(rooms.map((each) => this.#answers([each])));
          return new Map(answers.flatMap((each) => [...each]));
        } else {
          rooms.forEach((each) => this.#stop(each, refused));
          return new Map();
        }
      }
    }
  }
}
