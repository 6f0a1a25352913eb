import { describe, expect, it } from "@effect/vitest"
import { type Evidence, proveOwnership } from "./OwnershipProof.ts"
import type { Phase, WorkRecord } from "./Shift.ts"

/** One run of work: the process, the round, and each phase with its time. */
const run = (pid: number, number: number, round: number, ...phases: ReadonlyArray<readonly [Phase, number]>): ReadonlyArray<WorkRecord> =>
  phases.map(([phase, at]) => ({ pid, run: number, id: "one", round, phase, at }))

const prove = (records: ReadonlyArray<ReadonlyArray<WorkRecord>>, more: Partial<Evidence> = {}) =>
  proveOwnership({ records: records.flat(), kills: [], freezes: [], blockages: [], leaseMillis: 2000, slackMillis: 0, ...more })

describe("the proof of ownership", () => {
  it("accepts one owner after the other", () => {
    const first = run(1, 0, 0, ["begin", 0], ["beat", 100], ["end", 200])
    const second = run(2, 0, 1, ["begin", 210], ["beat", 300], ["stopped", 310])
    expect(prove([first, second])).toMatchObject({ problems: [], runs: 2, takeovers: 0 })
  })

  it("finds work that two live processes run at once", () => {
    const first = run(1, 0, 0, ["begin", 0], ["beat", 100], ["beat", 200])
    const second = run(2, 0, 0, ["begin", 150], ["beat", 250])
    expect(prove([first, second]).problems).toEqual(["one: processes 1 and 2 both ran the work of round 0, for 50 ms"])
  })

  it("finds work that one process runs twice at once", () => {
    expect(prove([run(1, 0, 0, ["begin", 0], ["beat", 200]), run(1, 1, 0, ["begin", 100])]).problems).toHaveLength(1)
  })

  it("accepts that a process that was frozen and woken stops its work, and no step of it", () => {
    const freezes = [{ pid: 1, from: 120, to: 5000, owned: new Set(["one"]) }]
    const second = run(2, 0, 0, ["begin", 2500], ["end", 3000])
    const stopping = run(1, 0, 0, ["begin", 0], ["beat", 100], ["stopped", 5001])
    expect(prove([stopping, second], { freezes }).problems).toEqual([])
    const working = run(1, 0, 0, ["begin", 0], ["beat", 100], ["beat", 5001], ["stopped", 5002])
    expect(prove([working, second], { freezes }).problems).toHaveLength(1)
  })

  it("asks for no takeover of work that another process had taken over before a woken process is killed", () => {
    const freezes = [{ pid: 1, from: 120, to: 5000, owned: new Set(["one"]) }]
    const kills = [{ pid: 1, at: 5001, owned: new Set<string>() }]
    const records = [run(1, 0, 0, ["begin", 0], ["beat", 100]), run(2, 0, 0, ["begin", 2500], ["end", 3000])]
    expect(prove(records, { freezes, kills }).problems).toEqual([])
    // It had the work from another process, which does not have it any more.
    const before = run(2, 0, 0, ["begin", 0], ["stopped", 50])
    const killed = run(1, 0, 0, ["begin", 60], ["beat", 100])
    expect(prove([before, killed], { kills: [{ pid: 1, at: 150, owned: new Set(["one"]) }] }).problems).toHaveLength(1)
  })

  it("asks for a takeover within the lease and a second", () => {
    const killed = run(1, 0, 0, ["begin", 0], ["beat", 100])
    const kills = [{ pid: 1, at: 150, owned: new Set(["one"]) }]
    expect(prove([killed, run(2, 0, 0, ["begin", 3000])], { kills })).toMatchObject({
      problems: [],
      takeovers: 1,
      slowestTakeoverMillis: 2850,
    })
    expect(prove([killed, run(2, 0, 0, ["begin", 3300])], { kills }).problems).toHaveLength(1)
    const blockages = [{ from: 1000, to: 1500 }]
    expect(prove([killed, run(2, 0, 0, ["begin", 3300])], { kills, blockages }).problems).toEqual([])
    expect(prove([killed], { kills }).problems).toEqual(["one: process 1 was killed in round 0; the work ran again never"])
  })

  it("counts from the loss of a process that had taken over before it was lost itself", () => {
    const records = [run(1, 0, 0, ["begin", 0], ["beat", 100]), run(3, 0, 0, ["begin", 4500])]
    const first = { pid: 1, at: 150, owned: new Set(["one"]) }
    const freezeOf = (owned: ReadonlySet<string>) => [{ pid: 2, from: 2200, to: 9000, owned }]
    expect(prove(records, { kills: [first], freezes: freezeOf(new Set(["one"])) })).toMatchObject({
      problems: [],
      slowestTakeoverMillis: 2300,
    })
    expect(prove(records, { kills: [first], freezes: freezeOf(new Set(["another"])) }).problems).toHaveLength(1)
    const late = [run(1, 0, 0, ["begin", 0], ["beat", 100]), run(3, 0, 0, ["begin", 5500])]
    expect(prove(late, { kills: [first], freezes: freezeOf(new Set(["one"])) }).problems).toHaveLength(1)
    // It was frozen with the work and then killed: that gives the next process no more time.
    const kills = [first, { pid: 2, at: 4000, owned: new Set(["one"]) }]
    expect(prove(late, { kills, freezes: [{ pid: 2, from: 2200, to: 4000, owned: new Set(["one"]) }] }).problems).toHaveLength(1)
  })

  it("finds work of a round that was left long before", () => {
    expect(prove([run(1, 0, 5, ["begin", 0]), run(2, 0, 4, ["begin", 500])]).problems).toEqual([])
    expect(prove([run(1, 0, 5, ["begin", 0]), run(2, 0, 4, ["begin", 1500])]).problems).toHaveLength(1)
  })
})
