/**
 * Judges what a store holds of one instance, by the journal alone: every event is decided on again, and state, timers and
 * commands must be what follows from them. The engine has no part in it.
 */
import { begin, type Compiled, compiledOf, decide, type Node, type Tagged } from "@detent/machine/internal"
import type { CommandRecord, EventRecord, InstanceKey, SnapshotRecord, TimerRecord } from "@detent/store"
import type { Codec, EventBody } from "../../src/machine/Codec.ts"
import { type DelayedEvent, delayedAfter, delayedChanges, delayTimerOf } from "../../src/machine/DelayedEvents.ts"
import { noEntries } from "../../src/machine/GroupEntries.ts"
import { entersState } from "../../src/machine/PendingEvent.ts"
import { isOwedTimer } from "../../src/machine/SelfSentEvents.ts"
import { encodeSnapshot } from "../../src/machine/SnapshotBody.ts"
import { type AnyMachine, readerOf } from "./Machines.ts"

/** One instance as it is stored, whatever the store. */
export interface Stored extends InstanceKey {
  readonly tag: string
  readonly status: string
  readonly needsOwner: boolean
  readonly owes: boolean
  readonly sequence: number
  readonly startedAt: number
  /** Up to where the journal was pruned, if it was. */
  readonly pruned: number
  readonly origin: string | undefined
  readonly events: ReadonlyArray<EventRecord>
  readonly snapshot: SnapshotRecord | undefined
  readonly timers: ReadonlyArray<TimerRecord>
  readonly commands: ReadonlyArray<Pick<CommandRecord, "key" | "slot" | "sequence">>
}

export interface Judged {
  readonly problems: ReadonlyArray<string>
  /** As JSON, by sequence; the first is what it began with. */
  readonly states: ReadonlyArray<string>
  /** The state before the current one, likewise. */
  readonly previous: ReadonlyArray<string | undefined>
  /** At which sequence the event of a token is journaled. */
  readonly tokens: ReadonlyMap<string, number>
  /** Events that a journaled decision sent to the instance itself, and that are in the journal. */
  readonly raised: { readonly journaled: number; readonly missing: number }
  /** How often a deadline passed and was reported. */
  readonly fired: number
}

/** Where clocks jump, a deadline may pass by one clock before it passes by another. */
export const judge = (machine: AnyMachine, stored: Stored, clocksJump = false): Judged => new Judge(machine, stored, clocksJump).judged()

export const tokenOf = (event: Tagged): string | undefined => (event as { readonly token?: string }).token

class Judge {
  readonly #compiled: Compiled
  readonly #codec: Codec
  readonly #stored: Stored
  readonly #clocksJump: boolean
  readonly #problems: Array<string> = []
  readonly #states: Array<string> = []
  readonly #before: Array<string | undefined> = []
  /** What a snapshot would hold, by sequence. */
  readonly #snapshots: Array<string> = []
  readonly #tokens = new Map<string, number>()
  readonly #raised: Array<string> = []
  readonly #commands: Array<string> = []
  #timers = new Map<string, TimerRecord>()
  #delayed: ReadonlyArray<DelayedEvent> = []
  #state: Tagged
  #previous: Tagged | undefined
  #entered = 0
  #stopped = false
  #fired = 0

  constructor(machine: AnyMachine, stored: Stored, clocksJump: boolean) {
    this.#clocksJump = clocksJump
    this.#compiled = compiledOf(machine)
    this.#codec = readerOf(machine.name)
    this.#stored = stored
    const { v, s, p } = JSON.parse(stored.origin ?? "null") as { readonly v: number; readonly s: unknown; readonly p?: unknown }
    this.#state = this.#codec.stateOf(s, v)
    this.#previous = p === undefined ? undefined : this.#codec.stateOf(p, v)
  }

  judged(): Judged {
    const beginning = begin(this.#compiled, this.#state, 0)
    if (beginning._tag === "Beginning") this.#request(beginning.requests, 0)
    this.#setTimers({ sequence: 0, at: this.#stored.startedAt }, true)
    this.#note()
    this.#events()
    this.#record()
    this.#snapshot()
    this.#sameTimers()
    this.#sameCommands()
    const missing = this.#raised.filter((token) => !this.#tokens.has(token)).length
    const raised = { journaled: this.#raised.length - missing, missing }
    return {
      problems: this.#problems,
      states: this.#states,
      previous: this.#before,
      tokens: this.#tokens,
      raised,
      fired: this.#fired,
    }
  }

  #say(problem: string) {
    this.#problems.push(`${this.#stored.machine} ${this.#stored.id}: ${problem}`)
  }

  #node(): Node {
    return this.#compiled.nodes.get(this.#state._tag) as Node
  }

  #events() {
    const dedupeIds = new Set<string>()
    for (const [index, record] of this.#stored.events.entries()) {
      if (record.sequence !== index + 1) return this.#say(`event ${index + 1} is missing: the next has sequence ${record.sequence}`)
      if (record.dedupeId !== undefined && dedupeIds.has(record.dedupeId)) this.#say(`id ${record.dedupeId} is journaled twice`)
      if (record.dedupeId !== undefined) dedupeIds.add(record.dedupeId)
      const body = this.#codec.decodeEvent(record.body)
      const token = tokenOf(body.event)
      if (token !== undefined && this.#tokens.has(token)) {
        this.#say(`${token} is journaled twice, at ${this.#tokens.get(token)} and ${record.sequence}`)
      }
      if (token !== undefined) this.#tokens.set(token, record.sequence)
      if (this.#stopped || this.#node().final) return this.#say(`event ${record.sequence} came after the end`)
      this.#apply(record, body)
      this.#note()
    }
  }

  #note() {
    const [state, previous, entered] = [this.#state, this.#previous, this.#entered]
    this.#states.push(this.#codec.encodeState(state))
    this.#before.push(previous === undefined ? undefined : this.#codec.encodeState(previous))
    this.#snapshots.push(encodeSnapshot(this.#codec, { state, previous, entered, groups: noEntries, delayed: this.#delayed }))
  }

  #apply(record: EventRecord, { event, settled, fired }: EventBody) {
    const timerName = event._tag === "@timeout" ? (event as unknown as { readonly name: string }).name : undefined
    if (timerName !== undefined) this.#fire(record, timerName)
    if (fired !== undefined) this.#fireDelayed(record, event, fired)
    const decision = decide(this.#compiled, this.#state, event, record.at)
    if (settled !== undefined) {
      if (settled.moved) this.#enter(record, settled.through)
      this.#state = settled.state
      return this.#setTimers(record, settled.moved)
    }
    if (decision._tag !== "Goto" && decision._tag !== "Stay" && decision._tag !== "Stop")
      return this.#say(`${event._tag} at ${record.sequence} does not fit state ${this.#state._tag}: ${decision._tag}`)
    if (entersState(decision)) this.#enter(record, decision.through)
    this.#state = decision.state
    const delays = decision.delays.length === 0 ? undefined : delayedChanges(decision.delays, record.at)
    this.#delayed = delayedAfter(this.#delayed, { delays, fired }, record.sequence)
    this.#stopped = decision._tag === "Stop"
    this.#request(decision.requests, record.sequence)
    for (const sent of decision.sends) this.#raised.push(tokenOf(sent) ?? "")
    if (this.#stopped) this.#timers = new Map()
    else this.#setTimers(record, decision._tag === "Goto")
  }

  #enter({ sequence }: EventRecord, through: ReadonlyArray<Tagged>) {
    this.#previous = through.at(-1) ?? this.#state
    this.#entered = sequence
  }

  #request(requests: ReadonlyArray<{ readonly slot: string }>, sequence: number) {
    const { machine, id } = this.#stored
    for (const [index, { slot }] of requests.entries()) this.#commands.push(`${machine}/${id}/${sequence}/${index} ${slot}`)
  }

  #fire({ sequence, at }: EventRecord, name: string) {
    const timer = this.#timers.get(name)
    if (timer === undefined) return this.#say(`timer ${name} fired at ${sequence} and was not set, or fired before`)
    if (at < timer.due && !this.#clocksJump) this.#say(`timer ${name} fired at ${sequence} was early: at ${at} instead of ${timer.due}`)
    this.#fired++
    this.#timers.delete(name)
  }

  #fireDelayed({ sequence, at }: EventRecord, event: Tagged, name: string) {
    const delayed = this.#delayed.find((one) => one.name === name)
    if (delayed === undefined) return this.#say(`delayed event ${name} fired at ${sequence} and was not set, or fired before`)
    if (tokenOf(delayed.event) !== tokenOf(event)) this.#say(`delayed event ${name} fired at ${sequence} as ${JSON.stringify(event)}`)
    if (at < delayed.due && !this.#clocksJump)
      this.#say(`delayed event ${name} fired at ${sequence} was early: at ${at}, not ${delayed.due}`)
    this.#fired++
  }

  #setTimers({ sequence, at }: Pick<EventRecord, "sequence" | "at">, entered: boolean) {
    if (entered) this.#timers = new Map()
    for (const { name, idle, millis } of this.#node().timeouts.values()) {
      if (entered || idle) this.#timers.set(name, { name, entry: sequence, due: at + millis(this.#state, at) })
    }
  }

  #record() {
    const { sequence, tag, status, needsOwner, events } = this.#stored
    if (sequence !== events.length) this.#say(`it stands at ${sequence}, and ${events.length} events are journaled`)
    if (tag !== this.#state._tag) this.#say(`it is listed in ${tag}, and its journal leads to ${this.#state._tag}`)
    const expected = this.#stopped ? "stopped" : this.#node().final ? "final" : "running"
    if (status !== expected) this.#say(`it is listed as ${status} instead of ${expected}`)
    const works = expected === "running" && this.#node().works.length > 0
    if (needsOwner !== works) this.#say(`it is listed as ${needsOwner ? "needing" : "not needing"} an owner`)
  }

  #snapshot() {
    const { snapshot } = this.#stored
    if (snapshot === undefined) return
    if (inOrder(snapshot.body) !== inOrder(this.#snapshots[snapshot.sequence] ?? "null"))
      this.#say(`its snapshot at ${snapshot.sequence} is ${snapshot.body}`)
  }

  #sameTimers() {
    const text = (timers: Iterable<TimerRecord>) => JSON.stringify([...timers].map(({ name, entry, due }) => [name, entry, due]).sort())
    const set = [...this.#timers.values(), ...(this.#stopped || this.#node().final ? [] : this.#delayed.map(delayTimerOf))]
    const [found, expected] = [text(this.#stored.timers.filter((timer) => !isOwedTimer(timer))), text(set)]
    if (found !== expected) this.#say(`its timers are ${found} instead of ${expected}`)
  }

  #sameCommands() {
    const found = this.#stored.commands.map(({ key, slot }) => `${key} ${slot}`).sort()
    const expected = [...this.#commands].sort()
    if (found.join() !== expected.join()) this.#say(`its commands are ${found.join() || "none"} instead of ${expected.join() || "none"}`)
  }
}

/** A snapshot with its delayed events by name: a process that has read them from the store has them in another order. */
const inOrder = (body: string): string => {
  const { d = [], ...rest } = (JSON.parse(body) ?? {}) as { readonly d?: ReadonlyArray<{ readonly n: string }> }
  return JSON.stringify({ ...rest, d: [...d].sort((left, right) => (left.n < right.n ? -1 : 1)) })
}
