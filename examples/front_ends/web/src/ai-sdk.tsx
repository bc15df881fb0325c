/** A chat page on the AI SDK's own client. Our part has the type `data-tool-call`; nothing else is special. */
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type UIMessage } from "ai";
import { createRoot } from "react-dom/client";
import { useState } from "react";
import { Call, Page, type Told } from "./card.tsx";

type Message = UIMessage<unknown, { "tool-call": Told }>;
interface ToolPart { type: string; toolCallId: string; toolName?: string; state: string }

/** What AI Elements prints for each state. */
const LABELS: Record<string, string> = {
  "input-streaming": "Pending", "input-available": "Running", "approval-requested": "Awaiting Approval", "approval-responded": "Responded",
  "output-available": "Completed", "output-error": "Error", "output-denied": "Denied",
};

function Chat() {
  const [id] = useState(() => new URLSearchParams(location.search).get("chat") ?? crypto.randomUUID());
  const chat = useChat<Message>({ id, transport: new DefaultChatTransport({ api: "/api/chat" }) });
  const parts = chat.messages.flatMap((message) => message.parts);
  const told = new Map<string, Told>();
  for (const part of parts) if (part.type === "data-tool-call") told.set(part.data.invocationId, part.data);
  const natives = (parts as ToolPart[]).filter((part) => part.toolCallId !== undefined);
  return (
    <Page
      title="AI SDK"
      on={[
        { label: "Plan a trip", press: () => void chat.sendMessage({ text: "Plan a trip" }) },
        { label: "Pay the deposit", press: () => void chat.sendMessage({ text: "Pay the deposit" }) },
        { label: "Stop", press: () => void chat.stop() },
        { label: "Reconnect", press: () => void chat.resumeStream() },
      ]}
    >
      <p className="status">chat: {chat.status}{chat.error ? `, ${chat.error.message}` : ""}</p>
      {natives.map((part) => {
        const tool = part.toolName ?? part.type.replace(/^tool-/, "");
        return <Call key={part.toolCallId} tool={tool} says={part.state} label={LABELS[part.state] ?? part.state} told={matching(told, part.toolCallId)} />;
      })}
      {unmatched(told, natives.map((part) => part.toolCallId)).map((one) => (
        <Call key={one.invocationId} tool={one.invocationId} says="no part" label="Nothing" told={one} />
      ))}
    </Page>
  );
}

/** The record names the id under which the model knows the call. */
function providerCall(told: Told): string | undefined {
  const rows = (told.document as { correlation?: { providerCallId?: string }[] }).correlation ?? [];
  return rows.find((row) => row.providerCallId)?.providerCallId;
}

function matching(told: Map<string, Told>, call: string): Told | undefined {
  return [...told.values()].filter((one) => providerCall(one) === call).at(-1);
}

function unmatched(told: Map<string, Told>, calls: string[]): Told[] {
  return [...told.values()].filter((one) => !calls.includes(providerCall(one) ?? ""));
}

createRoot(document.getElementById("root")!).render(<Chat />);
