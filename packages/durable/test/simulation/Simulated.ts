/** An engine in a process of its own. */
import type { Tagged } from "@detent/machine/internal"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { EngineOptions } from "../../src/Engine.ts"
import { Engine, type EngineService } from "../../src/Engine.ts"
import type { Instance, ReadError } from "../../src/Instance.ts"
import { fastLock } from "../../src/nodes/HeldLease.ts"
import type { Answer, Sent } from "./Answers.ts"
import type { FaultyStore } from "./FaultyStore.ts"
import { type Driven, driven } from "./Machines.ts"
import type { Process } from "./World.ts"

export interface Reading {
  readonly node: Simulated
  readonly machine: string
  readonly id: string
  readonly begun: number
  readonly sequence: number
  readonly state: Tagged
  readonly previous: Tagged | undefined
}

export interface SimulatedOptions extends EngineOptions {
  readonly locks: boolean
  readonly machines: ReadonlyArray<Driven>
}

export class Simulated {
  readonly process: Process
  readonly #scope = Scope.makeUnsafe()
  readonly #unanswered = new Set<(answer: Answer) => void>()
  #engine: EngineService | undefined
  #stopping = false
  /** Defects outside of any send. */
  readonly defects: Array<string> = []

  constructor(process: Process, store: FaultyStore, { locks, machines, ...options }: SimulatedOptions) {
    this.process = process
    const base = Layer.succeedContext(store.reachedFrom(process))
    const lock = { ...fastLock, duration: "3 seconds", acquireTimeout: "5 seconds" } as const
    const layer = Engine.layer({ ...options, nodeId: process.name, ...(locks ? { lock } : {}) }).pipe(Layer.provide(base))
    const opened = Effect.gen({ self: this }, function* () {
      const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), this.#scope)
      const engine = Context.get(context, Engine)
      this.#engine = engine
      yield* Effect.forEach(machines, ({ machine }) => Effect.retry(engine.register(machine), Schedule.spaced("1 second")), {
        discard: true,
      })
    })
    process.run(opened, (exit) => {
      if (Exit.isFailure(exit)) this.defects.push(`${process.name} did not open: ${Cause.pretty(exit.cause)}`)
    })
  }

  /** Whether it takes requests. A frozen one takes them and lets them wait. */
  get isOpen(): boolean {
    return this.process.isAlive && this.#engine !== undefined && !this.#stopping
  }

  /** Nothing is heard of it any more. */
  kill() {
    this.process.kill()
    for (const tell of [...this.#unanswered]) tell({ _tag: "Silence" })
  }

  /** Lets it end in peace. */
  stop() {
    if (!this.isOpen) return
    this.#stopping = true
    this.process.run(Scope.close(this.#scope, Exit.void), (exit) => {
      if (Exit.isFailure(exit)) this.defects.push(`${this.process.name} did not stop: ${Cause.pretty(exit.cause)}`)
      // What was answered last is on its way.
      this.process.soon(60_000, () => {
        if (this.#unanswered.size > 0) this.defects.push(`${this.process.name} stopped and left ${this.#unanswered.size} unanswered`)
        this.kill()
      })
    })
  }

  send({ machine, id, event, dedupeId }: Sent, answered: (answer: Answer) => void) {
    const engine = this.#engine as EngineService
    const tell = (answer: Answer) => {
      this.#unanswered.delete(tell)
      answered(answer)
    }
    this.#unanswered.add(tell)
    const sending = Effect.flatMap(engine.ensure(driven(machine).machine, id), (instance) =>
      instance.call(event, dedupeId === undefined ? {} : { id: dedupeId }),
    )
    this.process.run(sending, (exit) => {
      if (Exit.isSuccess(exit)) return tell({ _tag: "Taken", from: exit.value.from, state: exit.value.state })
      const failure = exit.cause.reasons.find(Cause.isFailReason)
      if (failure === undefined) return tell({ _tag: "Defect", defect: Cause.pretty(exit.cause) })
      const { error } = failure
      tell(error._tag === "InstanceNotFound" ? { _tag: "Defect", defect: error.message } : { _tag: "Refused", error })
    })
  }

  read(machine: string, id: string, begun: number, told: (reading: Reading) => void) {
    if (!this.isOpen) return
    const engine = this.#engine as EngineService
    const reading = Effect.flatMap(engine.get(driven(machine).machine, id), (found) =>
      found._tag === "None" ? Effect.undefined : found.value.snapshot,
    )
    this.process.run(reading, (exit) => {
      if (Exit.isSuccess(exit)) {
        if (exit.value === undefined) return
        const { sequence, state, previous } = exit.value
        told({ node: this, machine, id, begun, sequence, state, previous })
      } else this.#judgeReadFailure(exit.cause)
    })
  }

  saveSnapshot(machine: string, id: string) {
    this.#ask(machine, id, (instance) => instance.saveSnapshot)
  }

  /** Forgets what a snapshot of this moment covers. */
  prune(machine: string, id: string) {
    this.#ask(machine, id, (instance) => Effect.andThen(instance.saveSnapshot, instance.prune))
  }

  #ask(machine: string, id: string, use: (instance: Instance<Tagged, Tagged>) => Effect.Effect<unknown, ReadError>) {
    if (!this.isOpen) return
    const engine = this.#engine as EngineService
    const asking = Effect.flatMap(engine.get(driven(machine).machine, id), (found) =>
      found._tag === "None" ? Effect.void : use(found.value),
    )
    this.process.run(asking, (exit) => {
      if (Exit.isFailure(exit)) this.#judgeReadFailure(exit.cause)
    })
  }

  #judgeReadFailure(cause: Cause.Cause<{ readonly _tag: string; readonly message: string }>) {
    const failure = cause.reasons.find(Cause.isFailReason)
    if (failure?.error._tag === "PersistenceFailed") return
    this.defects.push(`${this.process.name} could not read: ${Cause.pretty(cause)}`)
  }
}
