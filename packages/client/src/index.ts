/**
 * A client of a Detent server for browsers, Node, Bun, Deno and workers: `fetch` alone, typed by the machines.
 *
 * ```ts
 * const client = createClient<{ order: typeof Order }>({ url: "https://orders.example", token })
 * await client.order("o-7").send({ _tag: "Cancel", reason: "late" })
 * ```
 */
export { type Client, type ClientOptions, createClient } from "./createClient.ts"
export { Disconnected, type Problem, Refused } from "./errors.ts"
export type {
  InstanceClient,
  InstanceList,
  LegalEvent,
  ListedInstance,
  ListOptions,
  MachineClient,
  SendOptions,
  Sent,
  Snapshot,
  WaitOptions,
} from "./InstanceClient.ts"
export type { FieldOrder, Where } from "./search.ts"
export type { AnswerOf, AnyMachine, EventOf, IndexesOf, InputOf, Json, StateOf } from "./types.ts"
