/** Commits to test stores with. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { Commit, CommitOutcome, EventRecord, InstanceKey, SnapshotRecord } from "../src/contract/Commit.ts"

/** An instance of a machine that no other test uses: tests share a store, and own their data. */
export const freshKey: Effect.Effect<InstanceKey> = Effect.map(Random.nextIntBetween(0, 2 ** 40), (number) => ({
  machine: `Machine${number}`,
  id: `instance-${number}`,
}))

export const event = (sequence: number, fields: Partial<EventRecord> = {}): EventRecord => ({
  sequence,
  at: 1_000 + sequence,
  tag: "Moved",
  body: `{"_tag":"Moved","step":${sequence}}`,
  dedupeId: undefined,
  ...fields,
})

export const snapshot = (sequence: number, fields: Partial<SnapshotRecord> = {}): SnapshotRecord => ({
  sequence,
  at: 1_000 + sequence,
  version: 1,
  body: `{"_tag":"Moving","step":${sequence}}`,
  ...fields,
})

/** The commit that takes an instance from one sequence number to the next; from -1 it creates it. */
export const commit = ({ machine, id }: InstanceKey, expected: number, fields: Partial<Commit> = {}): Commit => ({
  machine,
  id,
  expected,
  sequence: expected + 1,
  at: 1_000 + expected,
  summary: { tag: "Moving", status: "running", reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false },
  origin: expected === -1 ? `{"_tag":"Begun"}` : undefined,
  events: expected === -1 ? [] : [event(expected + 1)],
  snapshot: undefined,
  clearTimers: [],
  setTimers: [],
  commands: [],
  fence: undefined,
  ...fields,
})

/** A commit of one event and nothing else. */
export const step = (key: InstanceKey, expected: number, fields: Partial<Commit> = {}): Commit =>
  commit(key, expected, { at: event(expected + 1).at, ...fields })

/** So many instances of a machine that stores write their commits in another way than a few. */
export const crowdOf = (machine: string): ReadonlyArray<InstanceKey> =>
  Array.from({ length: 40 }, (_, index) => ({ machine, id: `member-${index}` }))

export const stored: CommitOutcome = { _tag: "Stored" }

export const conflict = (actual: number): CommitOutcome => ({ _tag: "Conflict", actual })

/** Stores write commits in different ways, depending on what is in them: what they check holds in all of them. */
export const shapes: ReadonlyArray<readonly [name: string, fields: (sequence: number) => Partial<Commit>]> = [
  ["one event", (sequence) => ({ at: event(sequence).at })],
  ["a timer", (sequence) => ({ at: event(sequence).at, setTimers: [{ name: `t${sequence}`, entry: 0, due: 10 + sequence }] })],
  [
    "alike",
    (sequence) => ({
      at: 500 + sequence,
      events: [event(sequence, { at: 500 + sequence, body: "{}" })],
      setTimers: [{ name: "t", entry: sequence, due: 10 }],
    }),
  ],
  ["an id", (sequence) => ({ events: [event(sequence, { dedupeId: `sent-${sequence}` })] })],
  ["a snapshot and an id", (sequence) => ({ events: [event(sequence, { dedupeId: `sent-${sequence}` })], snapshot: snapshot(sequence) })],
]
