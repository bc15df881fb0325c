/**
 * Receives a stream with a real client and prints, as one JSON document, what the client holds in the end.
 *
 * usage: node receive.mjs ai6|ai7|ag-ui URL
 */
const [kind, url] = process.argv.slice(2);

async function aiSdk(name) {
  const { DefaultChatTransport, readUIMessageStream } = await import(name);
  const transport = new DefaultChatTransport({ api: url });
  const stream = await transport.sendMessages({
    chatId: "c", trigger: "submit-message", messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "go" }] }],
  });
  let last;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return {
    ours: last.parts.filter((part) => part.type === "data-tool-call").map((part) => ({ id: part.id, data: part.data })),
    native: last.parts.filter((part) => part.toolCallId).map((part) => ({ id: part.toolCallId, state: part.state, input: part.input, output: part.output })),
  };
}

async function agUi() {
  const { HttpAgent } = await import("@ag-ui/client");
  const agent = new HttpAgent({ url, threadId: "c" });
  agent.addMessage({ id: "u", role: "user", content: "go" });
  const ours = new Map();
  const finished = [];
  await agent.runAgent({ runId: "r" }, {
    onCustomEvent: ({ event }) => { if (event.name === "toolwitness.tool-call") ours.set(event.value.invocationId, event.value); },
    onRunFinishedEvent: ({ event }) => { finished.push(event.metadata); },
  });
  return {
    ours: [...ours].map(([id, data]) => ({ id, data })),
    results: agent.messages.filter((message) => message.role === "tool").map((message) => message.metadata),
    finished,
  };
}

console.log(JSON.stringify(await (kind === "ag-ui" ? agUi() : aiSdk(kind))));
