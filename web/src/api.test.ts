import assert from "node:assert/strict";
import test from "node:test";
import { actionAddress, pageOf, snapshotAddress, streamAddress } from "./api.ts";
import type { ActionDetail } from "./events.ts";

const detail = (more: Partial<ActionDetail>): ActionDetail => ({
  id: "inv_1", subject: "invocation", action: "approve", reason: null, fields: {}, binding: {}, approvalId: null, inputsDigest: null,
  requestId: "r1", body: '{"requestId":"r1"}', ...more,
});

test("a decision goes to its invocation", () => {
  assert.equal(actionAddress("/m", detail({})), "/m/api/invocations/inv_1/actions/approve");
});

test("a control of the task goes to the part that it is bound to, and otherwise to the task", () => {
  const bound = detail({ id: "t1", subject: "task", action: "waive_child", binding: { invocationId: "inv_2" } });
  assert.equal(actionAddress("/m", bound), "/m/api/invocations/inv_2/actions/waive_child");
  assert.equal(actionAddress("/m", detail({ id: "t1", subject: "task", action: "stop" })), "/m/api/tasks/t1/actions/stop");
});

test("ids are escaped in addresses", () => {
  assert.equal(actionAddress("", detail({ id: "a/b?c" })), "/api/invocations/a%2Fb%3Fc/actions/approve");
});

test("each page has its snapshot, and the stream is narrowed to the task that is shown", () => {
  const tasks = pageOf("tasks", { tasks: [] });
  const task = pageOf("task", { id: "t1", cards: [] });
  assert.deepEqual([snapshotAddress("", tasks), streamAddress("", tasks, null)], ["/api/tasks", "/api/stream"]);
  assert.deepEqual([snapshotAddress("/m", task), streamAddress("/m", task, "c 1")], ["/m/api/tasks/t1?view=card", "/m/api/stream?cursor=c+1&task=t1"]);
});
