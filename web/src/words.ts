/**
 * Every word that the elements say by themselves; all other words come from the card.
 *
 * Present tense, plain, and never more than is recorded.
 */
export const words = {
  showAll: "Show all",
  copy: "Copy",
  copied: "Copied",
  selected: "Selected; copy it with the keyboard",
  incomplete: "This is a part of the value; the rest is not shown here.",
  showing: (shown: number, all: number) => `Showing ${group(shown)} of ${group(all)} characters.`,
  attempt: (ordinal: number) => `attempt ${ordinal}`,
  partOf: (title: string) => `Part of ${title}.`,
  stateIs: (title: string, label: string) => `${title}: ${label}`,
  requested: "requested, not yet recorded",
  off: (labels: string) => `${labels}:`,
  offWithoutReason: "Not possible now; no reason was given.",
  leave: "Back",
  needed: (label: string) => `${label} is needed.`,
  notJson: (why: string) => `This is not JSON: ${why}`,
  refused: "Refused",
  noAnswerTitle: "No answer from the server.",
  noAnswerDetail: "Nobody knows yet whether the request was recorded. The card shows what is recorded; pressing again repeats the same request.",
  dismissNotice: "Hide this notice",
  evidence: (numbers: string) => `Show evidence ${numbers}`,
  severity: { violation: "Violation", warning: "Warning", note: "Note" } as Record<string, string>,
  mark: { fact: "", gap: "Gap", request: "Request", violation: "Violation", refused: "Refused", held: "Held" } as Record<string, string>,
  request: "Request",
  reference: "Evidence reference",
  since: "counted by this device's clock",
  outputSoFar: (chunks: number) => `Output so far (${group(chunks)} ${chunks === 1 ? "part" : "parts"})`,
  by: (who: string) => `by ${who}`,
  unreadable: (source: string, why: string) => `${source} could not be read: ${why}`,
  nothingYet: "Nothing is recorded yet.",
  noTasks: "No task is recorded yet.",
  inboxEmpty: "Nothing waits for a decision.",
  answered: "No longer waiting",
  openTask: "Open its task",
  tasks: "Tasks",
  inbox: "Inbox",
  waitingCount: (count: number) => `${group(count)} waiting`,
  currency: "Whether this page is current",
  live: "Live",
  connecting: "Connecting; what you see was true when the page was made",
  reconnecting: (time: string) => `Reconnecting; what you see was true at ${time}`,
  signedOut: (time: string) =>
    `Nobody is signed in here any more; what you see was true at ${time}. Open the address that the server printed, or sign in again`,
  skip: "Skip to the content",
  signedInAs: (name: string) => `Acting as ${name}`,
  noBoot: "The server sent no page data. Load the page again.",
} as const;

function group(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
