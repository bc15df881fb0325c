/** Registers the elements, and exports what a host needs to listen to them. */
export { ToolCallCard } from "./tool-call-card.ts";
export { ToolTask } from "./tool-task.ts";
export { ToolInbox } from "./tool-inbox.ts";
export { ToolTaskList } from "./tool-task-list.ts";
export { ToolConsole } from "./tool-console.ts";
export { ToolActionEvent, ToolGotoEvent, type ActionDetail, type Answer } from "./events.ts";
export { applyToolResult, mergePatch, ToolResultGate, type Outcome } from "./outcome.ts";
export type * from "./model.ts";
