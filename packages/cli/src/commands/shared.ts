/** Arguments and options that several commands declare. */
import type { ClusterSettings } from "@detent/workspace/ClusterMember"
import * as Effect from "effect/Effect"
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
  { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many results" },
  { name: "after", kind: "text", value: "CURSOR", summary: "the cursor at the end of the previous page" },
] as const satisfies ReadonlyArray<Option>

/** Options of a range of time. `what` happened then: `changed`. */
export const range = (what: string) =>
  [
    {
      name: "since",
      kind: "text",
      value: "TIME",
      summary: `only those ${what} after this time: 1h (an hour ago), 2days, or 2026-11-16T09:30:00Z`,
    },
    { name: "until", kind: "text", value: "TIME", summary: `only those ${what} before this time` },
  ] as const satisfies ReadonlyArray<Option>

/** The most results that one page of a store has. */
const largestPage = 1000

/** Reads pages until there are `limit` results, and returns the cursor of the next one. */
export const upTo = <Item, Cursor, E, R>(
  limit: number,
  start: Cursor | undefined,
  read: (
    limit: number,
    after: Cursor | undefined,
  ) => Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next?: Cursor | undefined }, E, R>,
): Effect.Effect<{ readonly items: ReadonlyArray<Item>; readonly next: Cursor | undefined }, E, R> =>
  Effect.gen(function* () {
    const items: Array<Item> = []
    let after = start
    for (;;) {
      const page = yield* read(Math.min(largestPage, limit - items.length), after)
      for (const item of page.items) items.push(item)
      after = page.next
      if (after === undefined || items.length >= limit) return { items, next: after }
    }
  })

/** Options of processes that can be nodes of a cluster. */
export const clusterOptions = [
  {
    name: "cluster",
    kind: "text",
    value: "HOST:PORT",
    summary: "run as a node of a cluster, which other nodes reach at this address; needs PostgreSQL and DETENT_CLUSTER_TOKEN",
  },
  {
    name: "cluster-listen",
    kind: "text",
    value: "HOST:PORT",
    summary: "address to listen on for other nodes, such as 0.0.0.0:7700. Default: --cluster",
  },
] as const satisfies ReadonlyArray<Option>

/** The cluster settings of the options; undefined where the configuration decides. */
export const clusterOf = (input: {
  readonly cluster: string | undefined
  readonly "cluster-listen": string | undefined
}): ClusterSettings | undefined => {
  const { cluster: address, "cluster-listen": listen } = input
  if (address === undefined && listen === undefined) return undefined
  return { ...(address === undefined ? {} : { address }), ...(listen === undefined ? {} : { listen }) }
}

/** The idempotency key of commands that change something. */
export const keyOption = {
  name: "key",
  kind: "text",
  value: "ID",
  summary: "idempotency key: a repeated request returns the first result",
} as const satisfies Option
