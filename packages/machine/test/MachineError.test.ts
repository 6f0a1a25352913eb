import {
  ActorExists,
  EndlessTransition,
  EventReplayError,
  InstanceExists,
  InstanceNotFound,
  type MachineError,
  NewerVersion,
  RepairRefused,
  SequenceNotReached,
} from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"

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
