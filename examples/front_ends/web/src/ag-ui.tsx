/** A page on AG-UI's own client. Our record comes as a custom event at every move, and again in the metadata of what ends something. */
import { HttpAgent, type Message } from "@ag-ui/client";
import { createRoot } from "react-dom/client";
import { useEffect, useMemo, useState } from "react";
import { Call, Page, type Told } from "./card.tsx";

const NAME = "toolwitness.tool-call";

interface Known { tool: string; call: string; says: string; label: string }

/** What a client can know of each call: it has arguments, and a result or none. */
function known(messages: readonly Message[]): Known[] {
  const answered = new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message] as const] : [])));
  return messages.flatMap((message) => message.role === "assistant" ? message.toolCalls ?? [] : []).map((call) => {
    const result = answered.get(call.id);
    return { tool: call.function.name, call: call.id, says: result ? `result: ${result.content}` : "no result", label: result ? "complete" : "inProgress" };
  });
}

function Agent() {
  const [threadId] = useState(() => new URLSearchParams(location.search).get("chat") ?? crypto.randomUUID());
  const agent = useMemo(() => new HttpAgent({ url: "/api/run", threadId }), [threadId]);
  const [calls, setCalls] = useState<Known[]>([]);
  const [told, setTold] = useState<ReadonlyMap<string, Told>>(new Map());
  const [status, setStatus] = useState("ready");
  useEffect(() => {
    const following = agent.subscribe({
      onMessagesChanged: ({ messages }) => setCalls(known(messages)),
      onCustomEvent: ({ event }) => {
        if (event.name === NAME) setTold((before) => new Map(before).set(event.value.invocationId, event.value));
      },
      onRunFailed: ({ error }) => setStatus(`failed: ${error.message}`),
    });
    return () => following.unsubscribe();
  }, [agent]);
  const run = async (text: string) => {
    setStatus("running");
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    await agent.runAgent({ runId: crypto.randomUUID() }).then(() => setStatus("ready"), (error: Error) => setStatus(`failed: ${error.message}`));
  };
  const watch = async () => {
    setStatus("watching");
    const eyes = new HttpAgent({ url: "/api/run", threadId });
    const seen = (value: Told) => setTold((before) => new Map(before).set(value.invocationId, value));
    await eyes.runAgent({ runId: crypto.randomUUID(), forwardedProps: { watch: true } }, {
      onCustomEvent: ({ event }) => { if (event.name === NAME) seen(event.value); },
    }).then(() => setStatus("ready"), (error: Error) => setStatus(`failed: ${error.message}`));
  };
  const named = (one: Told) => ((one.document as { correlation?: { providerCallId?: string }[] }).correlation ?? [])[0]?.providerCallId;
  const loose = [...told.values()].filter((one) => !calls.some((call) => call.call === named(one)));
  return (
    <Page
      title="AG-UI"
      on={[
        { label: "Plan a trip", press: () => void run("Plan a trip") },
        { label: "Pay the deposit", press: () => void run("Pay the deposit") },
        { label: "Stop", press: () => agent.abortRun() },
        { label: "Reconnect", press: () => void watch() },
      ]}
    >
      <p className="status">agent: {status}</p>
      {calls.map((call) => (
        <Call key={call.call} tool={call.tool} says={call.says} label={call.label} told={[...told.values()].filter((one) => named(one) === call.call).at(-1)} />
      ))}
      {loose.map((one) => <Call key={one.invocationId} tool={one.invocationId} says="no call" label="Nothing" told={one} />)}
    </Page>
  );
}

createRoot(document.getElementById("root")!).render(<Agent />);
