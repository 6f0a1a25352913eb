/**
 * The past of one instance again, under other code. As long as the new code decides as the journal has it, its own timers and raised events
 * are those of the journal. From the first decision that is different, events from outside come at their recorded times, and timers and
 * raised events are those of the new code. An event that the new code does not accept is refused, as its sender would have seen.
 */
import type { Beginning, Decision, Taken } from "@detent/machine"
import { decide, type Node, type Tagged, timersOnEnter } from "@detent/machine/internal"
import type { EventRecord } from "@detent/store"
import { isRaisedId } from "@detent/store/internal"
import type { EventBody } from "../machine/Codec.ts"
import { delayedAfter, delayedAtStart, delayTimer, delayTimerOf, type InstanceTimer } from "../machine/DelayedEvents.ts"
import { timersAfter } from "../machine/PendingEvent.ts"
import { type SelfSentEvent, selfSentAfter } from "../machine/SelfSentEvents.ts"
import type { Side } from "./Difference.ts"

type AnyTaken = Taken<Tagged, Tagged>

/** More events than this that follow from one are endless: the instance stands where it is. */
const mostSteps = 10_000

export class PastAgain {
  readonly #after: Side
  /** Timers that are due later do not fire. */
  readonly #until: number
  #state: Tagged = { _tag: "(start)" }
  #timers: ReadonlyMap<string, InstanceTimer> = new Map()
  /** Raised events that are not handled yet, while the journal is followed. */
  #owed: ReadonlyArray<SelfSentEvent> = []
  #isApart = false
  #end: "running" | "final" | "stopped" | "unknown" = "running"
  #postponed: Array<Tagged> = []
  #steps = 0

  constructor(after: Side, until: number) {
    this.#after = after
    this.#until = until
  }

  begin(beginning: Beginning<Tagged, Tagged>, at: number) {
    this.#state = beginning.state
    const timeouts = beginning.timers.map(({ name, millis }): InstanceTimer => ({ name, entry: 0, due: at + millis }))
    const delayed = delayedAtStart(beginning, at).map((one): InstanceTimer => ({ ...delayTimerOf(one), event: one.event }))
    this.#timers = new Map([...timeouts, ...delayed].map((timer) => [timer.name, timer]))
    this.#owed = selfSentAfter([], { sequence: 0, tag: "(start)", dedupeId: undefined }, beginning.sends)
    if (this.#node?.final === true) this.#end = "final"
  }

  get #node(): Node | undefined {
    return this.#after.compiled.nodes.get(this.#state._tag)
  }

  /** The new code has decided as the journal has it. */
  follow(record: EventRecord, body: EventBody, decision: AnyTaken) {
    this.#owed = selfSentAfter(this.#owed, record, decision.sends)
    this.#take(decision, record.at, firedBy(body))
  }

  /** An Effect has decided: its stored outcome stands. */
  settled(record: EventRecord, { settled, delays, ...body }: EventBody) {
    if (settled === undefined) return
    const { outcome, state, moved, kept = 0, sends } = settled
    const before = this.#state
    const node = this.#after.compiled.nodes.get(state._tag)
    this.#owed = selfSentAfter(this.#owed, record, sends)
    const timers = moved && node !== undefined ? timersOnEnter(node, state, record.at, kept, before) : []
    const decision = {
      _tag: outcome,
      from: before,
      state,
      event: body.event,
      timers,
      delays: [],
      sends,
      kept,
      reason: settled.reason ?? "",
    }
    this.#take(decision as unknown as AnyTaken, record.at, firedBy({ settled, ...body }))
    if (delays === undefined || this.#end !== "running") return
    const waiting = delayedAfter([], { delays }, record.sequence)
    const cancelled = new Set(delays.map(({ name }) => delayTimer(name)))
    const others = [...this.#timers.values()].filter(({ name }) => !cancelled.has(name))
    this.#timers = new Map([...others, ...waiting.map((one) => ({ ...delayTimerOf(one), event: one.event }))].map((one) => [one.name, one]))
  }

  /** The new code decides this event otherwise: from here on it goes its own way. */
  part(record: EventRecord, body: EventBody, decision: Decision<Tagged, Tagged>) {
    this.#isApart = true
    const before = this.#owed.filter(({ id }) => id !== record.dedupeId).map(({ event }) => event)
    const fired = firedBy(body)
    if (fired !== undefined) this.#timers = new Map([...this.#timers].filter(([name]) => name !== fired))
    this.#carryOut(decision, record.at, before)
  }

  /** The next event of the journal, after the ways have parted. */
  event(record: EventRecord, body: EventBody) {
    if (!this.#isApart) return
    this.#advance(record.at)
    // Timers and raised events are those of the new code.
    if (firedBy(body) !== undefined || isRaisedId(record.dedupeId)) return
    this.#handle(body.event, record.at)
  }

  /** Whether the instance stands in this state, and no way has parted. */
  isAsStored(tag: string): boolean {
    return !this.#isApart && this.#state._tag === tag
  }

  /** How it has ended, or where it stands. */
  end(): string {
    this.#advance(this.#until)
    switch (this.#end) {
      case "final":
        return this.#state._tag
      case "stopped":
        return `${this.#state._tag} (stopped)`
      case "unknown":
        return "(an Effect would have decided)"
      case "running":
        return `${this.#state._tag} (running)`
    }
  }

  #advance(until: number) {
    while (this.#end === "running" && this.#steps++ < mostSteps) {
      let next: InstanceTimer | undefined
      for (const timer of this.#timers.values()) if (next === undefined || timer.due < next.due) next = timer
      if (next === undefined || next.due > until) return
      const { name, due, event = { _tag: "@timeout", name } } = next
      this.#timers = new Map([...this.#timers].filter(([other]) => other !== name))
      this.#handle(event as Tagged, due)
    }
  }

  #handle(event: Tagged, at: number) {
    if (this.#end !== "running") return
    this.#carryOut(decide(this.#after.compiled, this.#state, event, at), at, [])
  }

  /** Takes a decision, then handles the events that follow from it. */
  #carryOut(first: Decision<Tagged, Tagged>, at: number, waiting: ReadonlyArray<Tagged>) {
    const queue = [...waiting]
    let decision: Decision<Tagged, Tagged> | undefined = first
    while (decision !== undefined && this.#steps++ < mostSteps) {
      switch (decision._tag) {
        case "Goto":
        case "Stay":
        case "Stop":
          if (this.#fits(decision)) {
            queue.push(...decision.sends)
            // A postponed event is tried again after a change of state.
            if (decision._tag === "Goto") queue.push(...this.#postponed.splice(0))
            this.#take(decision, at, undefined)
          }
          break
        case "Postponed":
          this.#postponed.push(decision.event)
          break
        case "Deferred":
          this.#end = "unknown"
          break
        case "Refused":
          break
      }
      const event = this.#end === "running" ? queue.shift() : undefined
      decision = event === undefined ? undefined : decide(this.#after.compiled, this.#state, event, at)
    }
  }

  /** The engine refuses a state that does not fit its schema. */
  #fits({ state, from }: AnyTaken): boolean {
    return state === from || this.#after.codec.stateProblem(state, from) === undefined
  }

  #take(decision: AnyTaken, at: number, fired: string | undefined) {
    const node = this.#after.compiled.nodes.get(decision.state._tag)
    this.#state = decision.state
    if (node === undefined) {
      this.#end = "unknown"
      return
    }
    const timer = fired === undefined ? undefined : { name: fired, entry: 0, due: at }
    this.#timers = timersAfter(this.#timers, { decision, node, at, sequence: 0, envelope: { timer } })
    if (decision._tag === "Stop") this.#end = "stopped"
    else if (node.final) this.#end = "final"
  }
}

/** The timer that a journaled event comes from; undefined for an event from outside. */
const firedBy = ({ event, fired }: EventBody): string | undefined => {
  if (fired !== undefined) return delayTimer(fired)
  return event._tag === "@timeout" && "name" in event ? String(event.name) : undefined
}
