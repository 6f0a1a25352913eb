/**
 * Engines on virtual time over a store that fails. Every schedule follows from its seed:
 *
 *     DETENT_SIMULATION_SEED=17 npm test -- simulation    one schedule again
 */

import type { MemoryState } from "@detent/store/internal"
import { describe, expect, it } from "@effect/vitest"
import { explore } from "./Explore.ts"
import type { Mistake } from "./FaultyStore.ts"
import { randomSchedules, range, run } from "./randomSchedules.ts"
import { schedule } from "./Schedule.ts"
import { simulate } from "./Simulation.ts"
import { verdict } from "./Verdict.ts"

const seed = process.env["DETENT_SIMULATION_SEED"]
describe("simulation", () => {
  if (seed !== undefined) return it(`schedule ${seed} keeps every rule`, () => void run([Number(seed)]))
  randomSchedules(80)
})

/** Schedules that once found something. */
describe("a schedule that is kept", () => {
  it("11904: an event that the journal knows is answered when memory is as far", () => void run([11904]))
  it("1393: an event whose instance has just left memory in an outage follows it", () => void run([1393]))
  it("5868: nothing is decided after an event that takes time, though the commit before it is unconfirmed", () => void run([5868]))
  it("15561: a self-sent event that another node has handled is not stored again", () => void run([15561]))
  it("16095: a timer of an event that memory does not have yet is kept", () => void run([16095]))
  it("32156: an instance that was read before it changed and left memory is read again", () => void run([32156]))
  it("110928: a repeated event that another node has stored is not answered by a read that began before", () => {
    expect(verdict(simulate(schedule(110928, 250))).problems).toEqual([])
  })
  it("183: a timer that is due while the store cannot be written does not turn round and round", () => void run([183]))
})

/** What the schedules would find in a store that does one thing wrong. */
describe("the simulation notices a store that", () => {
  const notices = (title: string, mistake: () => Mistake) =>
    it(title, () => {
      const { failure } = explore(range(1, 100), mistake())
      expect(failure?.problems.join("\n")).toMatch(/./)
    })

  const sequenceOf = (state: MemoryState, { machine, id }: { readonly machine: string; readonly id: string }) =>
    state.instances.get(`${machine}\u0000${id}`)?.record.sequence ?? -1

  notices("stores a commit twice", () => (commit) => {
    const shift = commit.events.length
    const again = {
      ...commit,
      expected: commit.sequence,
      sequence: commit.sequence + shift,
      events: commit.events.map((event) => ({ ...event, sequence: event.sequence + shift, dedupeId: undefined })),
    }
    return shift === 0 ? [commit] : [commit, again]
  })

  notices("loses one commit in twenty and says it has it", () => {
    let commits = 0
    return (commit) => (++commits % 20 === 0 ? [] : [commit])
  })

  notices("does not check the sequence", () => (commit, state) => {
    const shift = sequenceOf(state, commit) - commit.expected
    return shift <= 0
      ? [commit]
      : [
          {
            ...commit,
            expected: commit.expected + shift,
            sequence: commit.sequence + shift,
            events: commit.events.map((event) => ({ ...event, sequence: event.sequence + shift })),
          },
        ]
  })

  notices("forgets ids", () => (commit) => [{ ...commit, events: commit.events.map((event) => ({ ...event, dedupeId: undefined })) }])

  notices("keeps timers that were cleared", () => (commit) => [{ ...commit, clearTimers: [] }])

  notices("drops timers", () => (commit) => [{ ...commit, setTimers: commit.setTimers.slice(1) }])

  notices("drops commands", () => (commit) => [{ ...commit, commands: [] }])

  notices("stores a part of a commit", () => (commit) => {
    const events = commit.events.slice(0, 1)
    return events.length === commit.events.length ? [commit] : [{ ...commit, events }]
  })
})
