/** The start: who is signed in, and what the page shows. */
import { render } from "preact";

import { App } from "./app.js";
import { Chat, messageOf } from "./chat.js";
import { type Config, Session } from "./session.js";

function Welcome({ session, error }: { session?: Session; error?: string }) {
  return (
    <main class="welcome">
      <img src="icon.svg" alt="" width="64" />
      <h1>Chat</h1>
      <p>Messages that were accepted stay, and what came while you were away is there when you are back.</p>
      {error && <p class="error" role="alert">{error}</p>}
      {session && <button class="primary" onClick={() => void session.signIn()}>Sign in</button>}
    </main>
  );
}

async function start(): Promise<void> {
  let session: Session | undefined;
  try {
    const answer = await fetch("config.json");
    if (!answer.ok) {
      throw new Error(`config.json: ${await answer.text()}`);
    }
    session = new Session((await answer.json()) as Config);
    await session.start();
  } catch (error) {
    render(<Welcome session={session} error={messageOf(error)} />, document.body);
    return;
  }
  if (session.user === undefined) {
    render(<Welcome session={session} />, document.body);
    return;
  }
  const chat = new Chat(session);
  let isAsked = false;
  const draw = () => {
    isAsked = false;
    document.title = `${unread(chat)}Chat`;
    render(<App chat={chat} />, document.body);
  };
  chat.changed = () => {
    if (!isAsked) {
      isAsked = true;
      setTimeout(draw); // changes that come together are drawn once
    }
  };
  draw();
  await chat.try(() => chat.start());
}

function unread({ conversations }: Chat): string {
  const count = conversations.reduce((sum, each) => sum + each.unread, 0);
  return count > 0 ? `(${count}) ` : "";
}

void start();
