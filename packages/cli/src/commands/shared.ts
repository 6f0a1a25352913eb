/** What several commands declare alike. */
import type { Argument, Option } from "../line/Command.ts"

export const machineArgument = {
  name: "machine",
  summary: "the machine's name, as `detent machine list` shows it",
} as const satisfies Argument

export const instanceArgument = {
  name: "instance",
  summary: "MACHINE/ID, or the id alone where only one machine has it",
} as const satisfies Argument

export const paging = [
  { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many" },
  { name: "after", kind: "text", value: "CURSOR", summary: "the `next` of the page before" },
] as const satisfies ReadonlyArray<Option>

/** Of commands that change something. */
export const keyOption = {
  name: "key",
  kind: "text",
  value: "ID",
  summary: "your own id for it: sent again under the same one, it is answered, not repeated",
} as const satisfies Option
