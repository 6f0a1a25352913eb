/** The states, requests and errors of an actor that a test harness records. */
import * as Effect from "effect/Effect"
import type { Inspection } from "../src/actor/Inspection.ts"
import { type Trace, traceOfInspections } from "../src/actor/Trace.ts"
import type { Snapshot } from "../src/contract/Actor.ts"
import type { Request } from "../src/decision/Decision.ts"
import type { Builder } from "../src/define/Builder.ts"
import type { Tagged } from "../src/define/Declarations.ts"
import type { SendError } from "../src/error/MachineError.ts"
import { type AnyMachine, checkNames, declarationsOf, guardHandlers, type Handlers, withHandlers } from "./Subject.ts"

export class Recording {
  /** The machine with every effect slot recorded. */
  readonly machine: Builder
  #visited: ReadonlyArray<string> = []
  readonly requests: Array<Request> = []
  readonly runs: Array<Request> = []
  readonly #errors = new Set<SendError>()
  readonly #inspections: Array<Inspection> = []
  readonly #subject: AnyMachine
  readonly #id: string
  /** The command that is being started: its handler is called in the same turn. */
  #starting: string | undefined = undefined

  constructor(subject: AnyMachine, id: string, guards: object | undefined, effects: object | undefined) {
    const { effectSlots, handlers } = declarationsOf(subject)
    checkNames(subject, effects, Object.keys(effectSlots), "effect")
    const given: Handlers = { ...handlers, ...(effects as Handlers | undefined) }
    const recorded = Object.keys(effectSlots).map((slot) => [slot, this.#recorded(slot, given[slot])])
    this.machine = withHandlers(subject, { ...guardHandlers(subject, guards), ...Object.fromEntries(recorded) })
    this.#subject = subject
    this.#id = id
  }

  #recorded(slot: string, handler: Handlers[string] | undefined): Handlers[string] {
    return (parameters, context) => {
      const isCommand = this.#starting === slot
      this.#starting = undefined
      ;(isCommand ? this.requests : this.runs).push({ slot, parameters })
      if (handler !== undefined) return handler(parameters, context)
      return isCommand ? Effect.void : Effect.never
    }
  }

  inspected(inspection: Inspection) {
    if (inspection.id !== this.#id) return
    this.#inspections.push(inspection)
    switch (inspection._tag) {
      case "Started":
        this.#visited = [inspection.state._tag]
        return
      case "Decided": {
        const { _tag, from, through, state } = inspection.decision
        if (_tag === "Goto" || state._tag !== from._tag) this.#visited = [...this.#visited, ...through.map((one) => one._tag), state._tag]
        return
      }
      case "CommandStarted":
        this.#starting = inspection.slot
        return
      case "Refused":
      case "ActionFailed":
        this.failed(inspection.error)
        return
    }
  }

  /** The same failure may be reported more than once: as refused, as failed, to the sender. */
  failed(error: SendError) {
    this.#errors.add(error)
  }

  /** Adds the states that automatic transitions passed through at the start: inspections only have the state after them. */
  began(snapshot: Snapshot<unknown>) {
    const tags = (snapshot.history as ReadonlyArray<Tagged>).map((state) => state._tag).reverse()
    const passed = Math.max(0, tags.length + 1 - this.#visited.length)
    this.#visited = [...tags.slice(0, passed), ...this.#visited]
  }

  /** The tags of the states visited. */
  get path(): ReadonlyArray<string> {
    return this.#visited
  }

  get errors(): ReadonlyArray<SendError> {
    return [...this.#errors]
  }

  get trace(): Trace {
    return traceOfInspections(this.#subject, this.#id, this.#inspections) as Trace
  }
}
