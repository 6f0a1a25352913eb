import {
  ActionFailed,
  ActorExists,
  EndlessTransition,
  EventReplayError,
  InstanceExists,
  InstanceNotFound,
  type MachineError,
  NewerVersion,
  PersistenceFailed,
  RepairRefused,
  SequenceNotReached,
  State,
} from "@detent/machine"
import { explain, framesOf } from "@detent/machine/internal"
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const order = { machine: "order", id: "o-1" }

describe("the family of errors", () => {
  it("has the refusals of a store, with their tags and next steps", () => {
    const errors: ReadonlyArray<MachineError> = [
      new InstanceNotFound(order),
      new InstanceExists({ ...order, state: "Paid", status: "running" }),
      new SequenceNotReached({ ...order, sequence: 9, last: 4 }),
      new RepairRefused({ ...order, sequence: 4, problem: "is not held" }),
      new NewerVersion({ ...order, state: "Paid", event: "Ship", sequence: 4, problem: "newer", written: 3, known: 2 }),
    ]
    expect(errors.map(({ _tag, message }) => `${_tag}: ${message}`)).toEqual([
      "InstanceNotFound: there is no instance o-1 of machine order; start it first",
      "ActorExists: order o-1 exists (Paid, running); use ensure or get",
      "SequenceNotReached: order o-1 has no sequence 9: its journal goes from 0 to 4; ask for one of those",
      "RepairRefused: order o-1 is not held",
      "EventReplayError: order o-1 was written by version 3, this process has 2; deploy it here too",
    ])
    expect(errors[1]).toBeInstanceOf(ActorExists)
    expect(errors[4]).toBeInstanceOf(EventReplayError)
  })

  it("146 says of raised events without end what it says of automatic transitions: the path, and what to change", () => {
    const fields = { ...order, state: "Open", event: "Ping", path: ["Ping", "Pong"] }
    expect(new EndlessTransition({ ...fields, chain: "raised events" }).message).toBe(
      "order o-1: the events it sends to itself do not end, and Ping is refused in state Open: Ping → Pong …; let a decision stop sending them",
    )
    expect(new EndlessTransition(fields).message).toBe(
      "order o-1: automatic transitions after event Ping in state Open do not end: Ping → Pong …; make a guard stop them",
    )
  })
})

class Secretive extends Schema.TaggedError<Secretive>()("Secretive", { cause: State.sensitive(Schema.Defect()) }) {}

/** The failure of a schema, whose message quotes the value. */
const unfit = (): unknown => {
  try {
    return Schema.decodeUnknownSync(Schema.Struct({ card: Schema.Finite }))({ card: "4111 1111" })
  } catch (error) {
    return error
  }
}

describe("the explanation of an error", () => {
  it("has the messages of its causes, each once", () => {
    const refused = new Error("connect ECONNREFUSED 10.0.0.7:5432")
    const error = new Error("Query failed", { cause: new Error("Query failed", { cause: refused }) })
    expect(explain(error)).toBe("Query failed: connect ECONNREFUSED 10.0.0.7:5432")
    expect(new PersistenceFailed({ ...order, operation: "commit", cause: error }).message).toBe(
      "order o-1: commit failed: Query failed: connect ECONNREFUSED 10.0.0.7:5432",
    )
    const thrown = new ActionFailed({ ...order, phase: "enter", state: "Paid", committed: true, cause: error })
    expect(explain(thrown)).toBe(thrown.message)
    expect(thrown.message).toContain("ECONNREFUSED")
  })

  it("names the first address that did not answer, where the error itself says nothing", () => {
    const none = Object.assign(new AggregateError([new Error("connect ECONNREFUSED ::1:5432")], ""), { code: "ECONNREFUSED" })
    expect(explain(new Error("no connection", { cause: none }))).toBe("no connection: ECONNREFUSED: connect ECONNREFUSED ::1:5432")
  })

  it("ends, and does not throw, with causes in a circle and values that cannot be shown", () => {
    const one = new Error("one")
    one.cause = new Error("two", { cause: one })
    expect(explain(one)).toBe("one: two")
    expect(explain({ toString: () => JSON.parse("{") })).toBe("a value that cannot be shown")
    expect([explain("text"), explain(undefined), explain({ _tag: "Away", token: "secret" })]).toEqual(["text", "undefined", "Away"])
  })

  it("shows no password of an address, no value that does not fit a schema, and no cause declared as sensitive", () => {
    const address = "postgres://orders:p@ss/word@db:5432/orders"
    const text = explain(new Error(`cannot open ${address}`, { cause: new Error("https://token@host?password=sesame&x=1") }))
    expect(text).toBe("cannot open postgres://orders:•••@db:5432/orders: https://•••@host?password=•••&x=1")
    expect(explain(new Error("its payload does not fit", { cause: unfit() }))).toBe("its payload does not fit")
    expect(explain(unfit())).toBe("a value does not fit its schema at card")
    expect(explain(new Secretive({ cause: new Error("sesame") }))).toBe("Secretive")
  })

  it("has the stack frames apart, without the message", () => {
    const frames = framesOf(new Error("secret\n    at the bank"))
    expect(frames).toMatch(/^ +at .*MachineError\.test\.ts/)
    expect(frames).not.toContain("the bank")
    expect(framesOf("text")).toBeUndefined()
  })
})
