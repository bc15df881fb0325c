import assert from "node:assert/strict";
import test from "node:test";
import { actionRequest, pageOf, snapshotAddress, streamAddress } from "./api.ts";
import type { ActionDetail } from "./events.ts";

const detail = (more: Partial<ActionDetail>): ActionDetail => ({
  id: "inv_1", subject: "invocation", action: "approve", reason: null, fields: {}, binding: {}, approvalId: null, inputsDigest: null,
  requestId: "r1", body: '{"requestId":"r1"}', ...more,
});

test("a decision goes to its invocation", () => {
  assert.deepEqual(actionRequest("/m", detail({}), "t1"), { address: "/m/api/invocations/inv_1/actions/approve", body: '{"requestId":"r1"}' });
});

test("a part is waived at its task, and named", () => {
  const expected = { address: "/m/api/tasks/t1/actions/waive", body: '{"invocationId":"inv_1","requestId":"r1"}' };
  assert.deepEqual(actionRequest("/m", detail({ action: "waive_child" }), "t1"), expected);
  const bound = detail({ id: "t1", subject: "task", action: "waive_child", binding: { invocationId: "inv_2" }, body: '{"invocationId":"inv_2","requestId":"r1"}' });
  assert.deepEqual(actionRequest("/m", bound, null), { address: "/m/api/tasks/t1/actions/waive", body: bound.body });
});

test("ids are escaped in addresses", () => {
  assert.equal(actionRequest("", detail({ id: "a/b?c" }), null).address, "/api/invocations/a%2Fb%3Fc/actions/approve");
});

test("each page has its snapshot, and the stream is narrowed to the task that is shown", () => {
  const tasks = pageOf("tasks", { tasks: [] });
  const task = pageOf("task", { id: "t1", cards: [] });
  assert.deepEqual([snapshotAddress("", tasks), streamAddress("", tasks, null)], ["/api/tasks", "/api/stream"]);
  assert.deepEqual([snapshotAddress("/m", task), streamAddress("/m", task, "c 1")], ["/m/api/tasks/t1?view=card", "/m/api/stream?cursor=c+1&task=t1"]);
});
