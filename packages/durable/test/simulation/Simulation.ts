/** Runs one schedule from beginning to end, and then lets the world heal. */
import { RetryPolicy } from "@detent/machine"
import { compiledOf, decide } from "@detent/machine/internal"
import { findInstance, memoryCommit } from "@detent/store/internal"
import { judge, type Stored } from "./Audit.ts"
import { Chance } from "./Chance.ts"
import { Clients } from "./Client.ts"
import { FaultyStore, type Mistake, perfectLine } from "./FaultyStore.ts"
import { codecOf, type Driven, driven, machines, reopen } from "./Machines.ts"
import type { Schedule, Step } from "./Schedule.ts"
import { type Reading, Simulated } from "./Simulated.ts"
import { World } from "./World.ts"

export interface Outcome {
  readonly schedule: Schedule
  readonly store: FaultyStore
  readonly clients: Clients
  readonly nodes: ReadonlyArray<Simulated>
  readonly readings: ReadonlyArray<Reading>
  /** Read by an engine that was opened when all was over. */
  readonly afresh: ReadonlyArray<Reading>
  /** What was stored before any desk was reopened. */
  readonly healed: ReadonlyArray<Stored>
  readonly now: number
  readonly calm: boolean
  readonly story: ReadonlyArray<string>
}

/** Long enough for every retry, claim, lease and deadline there is. */
const healing = 150_000

/** Long enough for another node to notice a commit, and for what is owed then. */
const reopening = 50_000

export const simulate = (schedule: Schedule, mistake?: Mistake): Outcome => withoutIntervals(() => new Simulation(schedule, mistake).run())

/**
 * Time is virtual here, except for the watchdog of an engine, an interval of the runtime. A real process that is killed takes it
 * along; the intervals of simulated ones would keep their engines in memory.
 */
const withoutIntervals = <A>(run: () => A): A => {
  const { setInterval } = globalThis
  const intervals: Array<NodeJS.Timeout> = []
  globalThis.setInterval = Object.assign((...given: Parameters<typeof setInterval>) => {
    const interval = setInterval(...given)
    intervals.push(interval)
    return interval
  }, setInterval)
  try {
    return run()
  } finally {
    globalThis.setInterval = setInterval
    for (const interval of intervals) clearInterval(interval)
  }
}

class Simulation {
  readonly #schedule: Schedule
  readonly #world: World
  readonly #store: FaultyStore
  readonly #clients: Clients
  readonly #nodes: Array<Simulated> = []
  readonly #readings: Array<Reading> = []
  #calm = true
  #count = 0

  constructor(schedule: Schedule, mistake: Mistake | undefined) {
    this.#schedule = schedule
    this.#world = new World(schedule.seed)
    this.#store = new FaultyStore(this.#world)
    this.#store.mistake = mistake
    this.#clients = new Clients(this.#world, () => this.#nodes)
  }

  run(): Outcome {
    const { schedule } = { schedule: this.#schedule }
    for (let count = 0; count < schedule.engines; count++) this.#open()
    this.#world.settle()
    this.#store.line = schedule.line
    for (const step of schedule.steps) {
      this.#take(step)
      // Often the next step comes before this one has had any effect.
      if (this.#world.chance.happens(0.5)) this.#world.settle()
    }
    this.#heal()
    const healed = this.#store.stored().map((one) => ({ ...one, events: [...one.events] }))
    this.#reopen()
    const afresh = this.#readAfresh()
    return {
      schedule,
      store: this.#store,
      clients: this.#clients,
      nodes: this.#nodes,
      readings: this.#readings,
      afresh,
      healed,
      now: this.#world.now,
      calm: this.#calm,
      story: this.#world.story,
    }
  }

  /** Those of the instances, beside the ones that every node knows. */
  get #machines(): ReadonlyArray<Driven> {
    const names = new Set([...machines.map(({ machine }) => machine.name), ...this.#schedule.instances.map(({ machine }) => machine)])
    return [...names].map((name) => driven(name))
  }

  #open(): Simulated {
    const { locks, passivateAfter } = this.#schedule
    const process = this.#world.process(`node-${this.#nodes.length}`)
    const sweeper = { retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 1_000_000 }) }
    const node = new Simulated(process, this.#store, { locks, passivateAfter, sweeper, machines: this.#machines })
    this.#nodes.push(node)
    return node
  }

  #target(pick: number) {
    const { instances } = this.#schedule
    return instances[pick % instances.length] as (typeof instances)[number]
  }

  #take(step: Step) {
    const open = this.#nodes.filter((node) => node.isOpen)
    if (step._tag !== "Send" && step._tag !== "Pass") this.#world.tell("schedule", JSON.stringify(step))
    const picked = "pick" in step && open.length > 0 ? open[step.pick % open.length] : undefined
    switch (step._tag) {
      case "Send": {
        const { machine, id } = this.#target(step.target)
        const token = `t${this.#count++}`
        const event = driven(machine).event(new Chance(step.seed), token)
        return this.#clients.send({ machine, id, event, token, dedupeId: step.withId ? token : undefined })
      }
      case "Resend": {
        const again = this.#clients.sent.filter(({ dedupeId }) => dedupeId !== undefined)
        const one = again[step.pick % again.length]
        return one === undefined ? undefined : this.#clients.send(one)
      }
      case "Read": {
        const { machine, id } = this.#target(step.target)
        return picked?.read(machine, id, ++this.#world.moment, (reading) => this.#readings.push(reading))
      }
      case "Snapshot": {
        const { machine, id } = this.#target(step.target)
        return picked?.saveSnapshot(machine, id)
      }
      case "Prune": {
        const { machine, id } = this.#target(step.target)
        return picked?.prune(machine, id)
      }
      case "Pass":
        return this.#world.advance(step.millis)
      case "Kill":
        if (picked === undefined) return
        this.#calm = false
        picked.kill()
        return void this.#world.after(this.#world.process("host"), 100, () => this.#open())
      case "Stop":
        if (picked === undefined) return
        this.#calm = false
        picked.stop()
        this.#open()
        return
      case "Open":
        return open.length < 3 ? void this.#open() : undefined
      case "Freeze":
        picked?.process.freeze()
        return void this.#world.after(this.#world.process("host"), step.millis, () => picked?.process.thaw())
      case "Skew":
        if (picked !== undefined) picked.process.skew = step.millis
        return
      case "Write":
        return this.#write(step)
      case "Outage":
        this.#store.outage = { kind: step.kind, until: this.#world.now + step.millis }
        return
    }
  }

  /** Writes to the instance from outside, as another node would. */
  #write({ target }: Extract<Step, { readonly _tag: "Write" }>) {
    const { machine: name, id } = this.#target(target)
    const { machine, plain } = driven(name)
    const stored = this.#store.stored().find((one) => one.machine === name && one.id === id)
    if (plain === undefined || stored === undefined || stored.status !== "running") return
    const compiled = compiledOf(machine)
    const codec = codecOf(name)
    const event = plain(`w${this.#count++}`)
    const state = codec.decodeState(judge(machine, stored).states.at(-1) as string, machine.version)
    const decision = decide(compiled, state, event, this.#world.now)
    if (decision._tag !== "Stay") return
    const sequence = stored.sequence + 1
    const body = codec.encodeEvent({ event, guardAnswers: [], settled: undefined, answer: undefined })
    const { record } = findInstance(this.#store.state, stored) as NonNullable<ReturnType<typeof findInstance>>
    const { tag, status, reason, version, needsOwner, owner, owes } = record
    memoryCommit(this.#store.state, {
      machine: name,
      id,
      expected: stored.sequence,
      sequence,
      at: this.#world.now,
      summary: { tag, status, reason, version, needsOwner, owner, owes },
      origin: undefined,
      events: [{ sequence, at: this.#world.now, tag: event._tag, body, dedupeId: undefined }],
      snapshot: undefined,
      clearTimers: [],
      setTimers: [],
      commands: [],
      fence: undefined,
    })
  }

  /** From now on everything works, and there is time. */
  #heal() {
    this.#world.tell("schedule", "from now on everything works")
    this.#store.line = perfectLine
    this.#store.outage = undefined
    for (const { process } of this.#nodes) {
      process.thaw()
      process.skew = 0
    }
    if (!this.#nodes.some((node) => node.isOpen)) this.#open()
    this.#world.advance(healing)
  }

  /** Each desk is reopened by one node. Those that postponed events on other nodes are answered too. */
  #reopen() {
    for (const { machine, id } of this.#schedule.instances) {
      const token = `t${this.#count++}`
      if (machine === "desk") this.#clients.send({ machine, id, event: reopen(token), token, dedupeId: token })
    }
    if (this.#schedule.instances.some(({ machine }) => machine === "desk")) this.#world.advance(reopening)
  }

  #readAfresh(): ReadonlyArray<Reading> {
    const readings: Array<Reading> = []
    for (const node of this.#nodes) {
      for (const { machine, id } of this.#schedule.instances) {
        node.read(machine, id, ++this.#world.moment, (reading) => this.#readings.push(reading))
      }
      this.#world.settle()
      node.kill()
    }
    const fresh = this.#open()
    this.#world.settle()
    for (const { machine, id } of this.#schedule.instances) {
      fresh.read(machine, id, ++this.#world.moment, (reading) => readings.push(reading))
    }
    this.#world.settle()
    return readings
  }
}
