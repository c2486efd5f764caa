import { unavailable } from "./errors.js";
import { type Resumed, Room } from "./room.js";

/** The followed channel of a user. Its items say what has changed, or that some changes may be missing. */
export class Channel extends Room {
  override readonly place = "users";

  /** What stands for the user's channel where a room id would. No room id contains `#`. */
  static key(userId: string): string {
    return `#${userId}`;
  }

  override get key(): string {
    return Channel.key(this.id);
  }

  protected override get named(): { userId: string } {
    return { userId: this.id };
  }

  /** A channel has no history: the lists say what was before. */
  protected override async newest(): Promise<[]> {
    return [];
  }

  protected override subscribed(): void {
    this.missed();
  }

  protected override missed(): void {
    this.receiver.message({ changed: "lists" });
  }

  override async take(answer: Resumed | undefined): Promise<boolean> {
    if (answer === undefined) {
      throw unavailable("the answer does not have the user");
    }
    return super.take(answer);
  }
}
