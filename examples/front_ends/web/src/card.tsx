/** `<tool-call-card>` in React: the document goes in as a property, a press goes to the desk's API, and its answer comes back. */
import { useEffect, useRef, useState } from "react";

export interface Told {
  invocationId: string;
  version: number;
  card: { id: string; state: string; version: number };
  document: unknown;
}

interface Element extends HTMLElement {
  card: Told["card"] | null;
  answer(answer: { requestId: string; outcome: "recorded" | "refused" | "unanswered"; problem?: unknown }): void;
}

interface Press { id: string; action: string; body: string; requestId: string }

const API = "/toolcalls/api";

async function session(): Promise<string> {
  const read: { csrf: string } = await (await fetch(`${API}/session`)).json();
  return read.csrf;
}

async function send(element: Element, { id, action, body, requestId }: Press): Promise<void> {
  try {
    const response = await fetch(`${API}/invocations/${encodeURIComponent(id)}/actions/${encodeURIComponent(action)}`, {
      method: "POST", body, headers: { "content-type": "application/json", "x-toolwitness-csrf": await session() },
    });
    if (response.ok) element.answer({ requestId, outcome: "recorded" });
    else element.answer({ requestId, outcome: response.status < 500 ? "refused" : "unanswered", problem: await response.json() });
  } catch {
    element.answer({ requestId, outcome: "unanswered" });
  }
}

export function ToolCallCard({ told }: { told: Told }) {
  const place = useRef<Element>(null);
  useEffect(() => {
    if (place.current) place.current.card = told.card;
  }, [told.invocationId, told.version]);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const pressed = (event: Event) => void send(element, (event as CustomEvent<Press>).detail);
    element.addEventListener("tool-action", pressed);
    return () => element.removeEventListener("tool-action", pressed);
  }, []);
  // A custom element: React hands it over as it is.
  const Tag = "tool-call-card" as unknown as React.ElementType;
  return <Tag ref={place} heading-level="3" data-invocation={told.invocationId} />;
}

/** One call: what the protocol's own part says, and our card beside it. */
export function Call({ tool, says, label, told }: { tool: string; says: string; label: string; told: Told | undefined }) {
  return (
    <section className="call" data-tool={tool} data-native={says}>
      <div className="native">
        <h3>{tool}</h3>
        <p><strong>{label}</strong></p>
        <p className="word">{says}</p>
      </div>
      <div className="ours">{told ? <ToolCallCard told={told} /> : <p className="word">nothing recorded yet</p>}</div>
    </section>
  );
}

export function Page({ title, on, children }: { title: string; on: { label: string; press: () => void; off?: boolean }[]; children: React.ReactNode }) {
  const [asked] = useState(() => new Date().toISOString());
  return (
    <main data-since={asked}>
      <h1>{title}</h1>
      <p className="lead">Left: what the protocol's own part says. Right: what is recorded.</p>
      <nav>{on.map(({ label, press, off }) => <button key={label} onClick={press} disabled={off}>{label}</button>)}</nav>
      {children}
    </main>
  );
}
