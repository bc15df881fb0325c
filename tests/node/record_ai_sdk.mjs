// Records UI message streams by running the real AI SDK, versions 6 and 7, with a scripted model: `node record_ai_sdk.mjs [SCENARIO …]`.
// Each scenario is a script of model responses, tools that write what they really do (truth), and, where it has a second request, the
// answer of a client. No network, no key, a few seconds.
import { mkdirSync, writeFileSync } from "node:fs";
import { z } from "zod";

const TARGET = new URL("../../spec/captures/aisdk/recorded/", import.meta.url);
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** One model response that writes tool calls, each in two pieces. */
function calls(...wanted) {
  const parts = wanted.flatMap(([id, toolName, text]) => [
    { type: "tool-input-start", id, toolName },
    { type: "tool-input-delta", id, delta: text.slice(0, 5) },
    { type: "tool-input-delta", id, delta: text.slice(5) },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName, input: text },
  ]);
  return [...parts, { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE }];
}

function says(text) {
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: text },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: USAGE },
  ];
}

class Capture {
  chunks = [];
  sse = "";
  truth = [];
  began = Date.now();

  wrote(ev, more = {}) {
    this.truth.push({ t_ms: Date.now() - this.began, ev, ...more });
  }

  /** A tool whose body writes that it was entered and how it was left. */
  tool(body, more = {}) {
    return {
      inputSchema: z.looseObject({}),
      execute: async (input, { toolCallId: id, abortSignal }) => {
        this.wrote("tool.start", { id, input });
        try {
          const value = await body(input, abortSignal, id);
          this.wrote("tool.end", { id });
          return value;
        } catch (error) {
          this.wrote(abortSignal?.aborted ? "tool.saw_abort" : "tool.throw", { id });
          throw error;
        }
      },
      ...more,
    };
  }

  /** A tool that puts out what it has so far. */
  generator(values, more = {}) {
    const capture = this;
    return {
      inputSchema: z.looseObject({}),
      async *execute(input, { toolCallId: id }) {
        capture.wrote("tool.start", { id, input });
        for (const value of values) yield value;
        capture.wrote("tool.end", { id });
      },
      ...more,
    };
  }

  async run(sdk, { responses, tools, messages, abortAfter, onError }) {
    const script = [...responses];
    const model = new sdk.MockLanguageModelV3({
      doStream: async () => ({ stream: sdk.simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...script.shift()] }) }),
    });
    const abort = new AbortController();
    const result = sdk.streamText({
      model, tools, messages: await sdk.convertToModelMessages(messages), stopWhen: sdk.stepCountIs(6), abortSignal: abort.signal,
      onError: () => undefined,
    });
    let last;
    const stream = result.toUIMessageStream({
      originalMessages: messages, generateMessageId: () => "msg", onError: onError ?? undefined,
      onFinish: ({ responseMessage }) => { last = responseMessage; },
    });
    const [left, right] = stream.tee();
    const framed = left.pipeThrough(new sdk.JsonToSseTransformStream());
    await Promise.all([
      (async () => { for await (const text of framed) this.sse += text; })(),
      (async () => {
        for await (const chunk of right) {
          this.chunks.push(chunk);
          if (chunk.type === abortAfter) { this.wrote("user.aborts_run"); abort.abort(); }
        }
      })(),
    ]);
    this.wrote("server.onEnd");
    return [...messages, last];
  }

  save(version, name) {
    const directory = new URL(`${version}/`, TARGET);
    mkdirSync(directory, { recursive: true });
    const lines = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    writeFileSync(new URL(`${name}.jsonl`, directory), lines(this.chunks));
    writeFileSync(new URL(`${name}.sse`, directory), this.sse);
    writeFileSync(new URL(`${name}.truth.jsonl`, directory), lines(this.truth));
  }
}

const ask = [{ id: "u1", role: "user", parts: [{ type: "text", text: "go" }] }];
const until = (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** Answer the one approval that the last message asks for. */
function answered(messages, approved, reason) {
  return messages.map((message) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.state === "approval-requested" ? { ...part, state: "approval-responded", approval: { ...part.approval, approved, reason } } : part),
  }));
}

const VALUES = {
  null: null, zero: 0, empty: "", list: [1, "two", null], false: false, nested: { a: { b: [] } }, text: "2 cancelled flights were found",
  lines: "one\u2028two\u2029three\u0085four", half: "\ud83d", long: "x".repeat(5000), says_error: { error: "no such record" },
  says_ok: { status: "ok", cancelled: false }, ledger: { state: "failed", code: 12 },
};

const SCENARIOS = {
  async results_of_every_type(sdk, capture) {
    const names = Object.keys(VALUES);
    const tools = { give: capture.tool(({ which }) => VALUES[which]), nothing: capture.tool(() => undefined) };
    const wanted = names.map((which) => [`call-${which}`, "give", JSON.stringify({ which })]);
    await capture.run(sdk, { responses: [calls(...wanted, ["call-nothing", "nothing", "{}"]), says("done")], tools, messages: ask });
  },
  async errors_of_every_kind(sdk, capture) {
    const errors = {
      plain: () => new Error("upstream 503"), abort: () => Object.assign(new Error("This operation was aborted"), { name: "AbortError" }),
      dom: () => new DOMException("The operation timed out.", "TimeoutError"), value: () => "Request was cancelled by the user",
      object: () => ({ code: 7 }),
    };
    const tools = { fail: capture.tool(({ which }) => { throw errors[which](); }) };
    const wanted = Object.keys(errors).map((which) => [`call-${which}`, "fail", JSON.stringify({ which })]);
    await capture.run(sdk, { responses: [calls(...wanted), says("sorry")], tools, messages: ask, onError: String });
  },
  async the_same_id_in_two_steps(sdk, capture) {
    let tries = 0;
    const tools = { book: capture.tool(() => { tries += 1; if (tries === 1) throw new Error("boom"); return { ref: tries }; }) };
    const one = calls(["call_0", "book", '{"q":"x"}']);
    await capture.run(sdk, { responses: [one, one, says("done")], tools, messages: ask, onError: String });
  },
  async the_same_id_after_a_success(sdk, capture) {
    const tools = { look: capture.tool(({ q }) => q) };
    await capture.run(sdk, { responses: [calls(["call_0", "look", '{"q":1}']), calls(["call_0", "look", '{"q":2}']), says("done")], tools, messages: ask });
  },
  async the_same_id_twice_in_one_response(sdk, capture) {
    const tools = { look: capture.tool(({ q }) => q) };
    const wanted = [["call_0", "look", '{"q":1}'], ["call_0", "look", '{"q":2}'], ["call_1", "look", '{"q":3}'], ["call_1", "look", '{"q":3}']];
    await capture.run(sdk, { responses: [calls(...wanted), says("done")], tools, messages: ask });
  },
  async arguments_that_are_no_object(sdk, capture) {
    const tools = { book: capture.tool(() => "booked", { inputSchema: z.object({ id: z.number() }) }) };
    const wanted = [["call-list", "book", "[1,2]"], ["call-cut", "book", '{"id": 1'], ["call-empty", "book", ""], ["call-twice", "book", '{"id":1}{"id":2}']];
    await capture.run(sdk, { responses: [calls(...wanted), calls(["call-good", "book", '{"id":9007199254740993}']), says("done")], tools, messages: ask });
  },
  async a_client_tool_beside_a_server_tool(sdk, capture) {
    const tools = { here: capture.tool(() => 1), there: { inputSchema: z.looseObject({}) } };
    await capture.run(sdk, { responses: [calls(["call-here", "here", "{}"], ["call-there", "there", "{}"]), says("done")], tools, messages: ask });
  },
  async an_approval_that_is_granted(sdk, capture) {
    const tools = { book: capture.tool(() => ({ ref: "R-1" }), { needsApproval: true }) };
    const asked = await capture.run(sdk, { responses: [calls(["call-book", "book", '{"q":"LH1"}'])], tools, messages: ask });
    capture.wrote("user.approves", { id: "call-book" });
    await capture.run(sdk, { responses: [says("booked")], tools, messages: answered(asked, true, "go on") });
  },
  async one_approval_that_is_sent_three_times(sdk, capture) {
    let runs = 0;
    const tools = { book: capture.tool(() => { runs += 1; if (runs === 3) throw new Error("sold out"); return { ref: runs }; }, { needsApproval: true }) };
    const asked = await capture.run(sdk, { responses: [calls(["call-book", "book", '{"q":"LH1"}'])], tools, messages: ask });
    for (let time = 1; time <= 3; time += 1) {
      capture.wrote("user.approves", { id: "call-book" });
      await capture.run(sdk, { responses: [says("booked")], tools, messages: answered(asked, true, "go on"), onError: String });
    }
  },
  async an_approval_that_is_denied(sdk, capture) {
    const tools = { book: capture.tool(() => ({ ref: "R-1" }), { needsApproval: true }) };
    const asked = await capture.run(sdk, { responses: [calls(["call-book", "book", '{"q":"LH1"}'])], tools, messages: ask });
    capture.wrote("user.denies", { id: "call-book" });
    await capture.run(sdk, { responses: [says("not booked")], tools, messages: answered(asked, false, "too expensive") });
  },
  async one_of_two_waits_for_an_approval(sdk, capture) {
    const tools = { book: capture.tool(() => 1, { needsApproval: true }), look: capture.tool(() => 2) };
    await capture.run(sdk, { responses: [calls(["call-book", "book", "{}"], ["call-look", "look", "{}"])], tools, messages: ask });
  },
  async output_before_the_end(sdk, capture) {
    const tools = { report: capture.generator([{ rows: 10 }, { rows: 20 }, { rows: 30 }]) };
    await capture.run(sdk, { responses: [calls(["call-report", "report", "{}"]), says("done")], tools, messages: ask });
  },
  async an_abort_that_one_of_two_hears(sdk, capture) {
    let late;
    const done = new Promise((resolve) => { late = resolve; });
    const tools = {
      hears: capture.tool((_, signal) => until(signal)),
      deaf: capture.tool(async (_, signal, id) => {
        await until(signal).catch(() => undefined);
        capture.wrote("tool.EFFECT_COMMITTED", { id });
        late();
        return "booked";
      }),
      at_once: capture.generator([1]),
    };
    const responses = [calls(["call-hears", "hears", "{}"], ["call-deaf", "deaf", "{}"], ["call-once", "at_once", "{}"])];
    await capture.run(sdk, { responses, tools, messages: ask, abortAfter: "tool-output-available" });
    await done;
  },
};

const only = process.argv.slice(2);
for (const version of ["6", "7"]) {
  const sdk = { ...(await import(`ai${version}`)), ...(await import(`ai${version}/test`)) };
  for (const [name, play] of Object.entries(SCENARIOS).filter(([name]) => only.length === 0 || only.includes(name))) {
    const capture = new Capture();
    await play(sdk, capture);
    capture.save(`v${version}`, name);
    console.log(`v${version}/${name}: ${capture.chunks.length} chunks, ${capture.truth.length} rows of truth`);
  }
}
