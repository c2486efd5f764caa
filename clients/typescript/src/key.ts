import { type Ask, type Receiver, type Resumed, Room } from "./room.js";
import type { StreamEvent } from "./types.js";

/** A followed key of a declared stream. Its items are events, and "missed" where some may be missing. */
export class Key extends Room {
  override readonly place = undefined;

  constructor(
    readonly stream: string,
    id: string,
    position: string | undefined,
    ask: Ask,
    receiver: Receiver,
  ) {
    super(id, position, [], ask, receiver);
  }

  /** What stands for a key of a stream where a room id would. No name of a stream contains `#`, and none is empty. */
  static key(stream: string, id: string): string {
    return `${stream}#${id}`;
  }

  override get key(): string {
    return Key.key(this.stream, this.id);
  }

  /** Follow the key, from its position on if it has one. */
  async follow(): Promise<Resumed> {
    const answer = await this.ask("follow", { stream: this.stream, key: this.id, since: this.position });
    return { ...answer, items: answer.items as StreamEvent[] };
  }

  protected override start(): Promise<Resumed> {
    return this.follow();
  }

  override leave(): Promise<unknown> {
    return this.ask("unfollow", { stream: this.stream, key: this.id });
  }

  /** Earlier events are known by their positions. */
  protected override async newest(): Promise<[]> {
    return [];
  }

  protected override missed(): void {
    this.receiver.message("missed");
  }
}
