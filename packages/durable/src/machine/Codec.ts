/**
 * Encodes the states and events of a machine as JSON, and decodes them. A value whose fields are all strings, numbers or booleans
 * is JSON already and skips its schema: 87 ns against 310 ns for an event of three fields.
 */

import type { TimeoutEvent } from "@detent/machine"
import {
  asFields,
  asSchema,
  type Compiled,
  type Declarations,
  isEffectSlot,
  isPlain,
  isPlainField,
  memoryOf,
  schemaOfVariant,
  schemaProblem,
  type Tagged,
  type UntypedUnion,
  type UntypedVariant,
  withMemory,
} from "@detent/machine/internal"
import { type CommandFailure, type Json, lossCheck, storableEncoder, unstorableField } from "@detent/store/internal"
import * as Schema from "effect/Schema"
import type { DelayedChange, DelayedEvent } from "./DelayedEvents.ts"
import { Undecodable, type Upcasters, upcast, WrittenByNewer } from "./Upcasters.ts"

/** A journaled event with the data of its replay. */
export interface EventBody {
  readonly event: Tagged
  readonly guardAnswers: ReadonlyArray<boolean>
  /** Whether `guardAnswers` includes inline guards. Journals of earlier versions contain the answers of guard slots only. */
  readonly inlineGuards?: boolean | undefined
  /** The outcome of an effectful decision, or of one that the machine's `keepsState` selects. A replay does not decide it again. */
  readonly settled: Settled | undefined
  readonly answer: unknown
  /** How a command failed for good, where the event reports that. */
  readonly failure?: CommandFailure | undefined
  /** Delayed events that the decision and its hooks set or cancelled. A replay reads them from here. */
  readonly delays?: ReadonlyArray<DelayedChange> | undefined
  /** The name under which the event was delayed, where it is a delayed event. */
  readonly fired?: string | undefined
  /** All events that the decision and its hooks raised. Set only where hooks raised some: a replay does not run hooks. */
  readonly raised?: ReadonlyArray<Tagged> | undefined
  /** The events that repairs have replaced by this one, oldest first. */
  readonly replaced?: ReadonlyArray<ReplacedEvent> | undefined
  /** Who sent it, as text, where its sender said so. */
  readonly by?: string | undefined
  /** Its trace, as `traceparent`, where a tracer is installed. */
  readonly trace?: string | undefined
}

/** An event that a repair has replaced, as the journal keeps it inside the event in its place. */
export interface ReplacedEvent {
  /** When it was replaced. */
  readonly at: number
  /** Who replaced it. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
  /** The body that was stored: an object, or text that is no JSON. */
  readonly body: unknown
}

/** A delayed event as it is stored. */
export interface StoredDelay {
  readonly n: string
  /** When it is due, and the event. Both are missing where it was cancelled. */
  readonly u?: number
  readonly e?: unknown
  /** The sequence at which it was set, in a snapshot. */
  readonly s?: number
}

/** The outcome of a decision, stored because a replay must not decide again. */
export interface Settled {
  readonly outcome: "Goto" | "Stay" | "Stop"
  readonly moved: boolean
  readonly state: Tagged
  readonly through: ReadonlyArray<Tagged>
  readonly reason: string | undefined
  readonly sends: ReadonlyArray<Tagged>
  /** How many of the groups around the state, counted from the outermost, were not left. Default: 0. */
  readonly kept?: number | undefined
  /** The slots that were requested. Default: none. */
  readonly requests?: ReadonlyArray<string>
}

interface VariantCodec {
  readonly encode: (value: Tagged) => unknown
  readonly decode: (value: unknown) => Tagged
  readonly copy: (value: Tagged) => Tagged
}

interface StoredBody {
  readonly v: number
  readonly e: unknown
  /** Answers of guards, none of them inline. */
  readonly g?: ReadonlyArray<boolean>
  /** Instead of `g`: answers of guards, including inline guards. */
  readonly i?: ReadonlyArray<boolean>
  readonly s?: StoredSettled
  readonly a?: unknown
  /** Why a command failed for good; in `h` if its slot declares the failure and the instance accepted an event for it. */
  readonly f?: string
  readonly h?: string
  readonly d?: ReadonlyArray<StoredDelay>
  readonly t?: string
  readonly r?: ReadonlyArray<unknown>
  readonly o?: ReadonlyArray<ReplacedEvent>
  readonly b?: string
  readonly p?: string
}

/** The state in which each group was last left, as JSON, by the name of the group. */
export type StoredMemory = Readonly<Record<string, unknown>>

interface StoredSettled {
  readonly o: Settled["outcome"]
  readonly m: boolean
  readonly s: unknown
  readonly p?: ReadonlyArray<unknown>
  readonly r?: string
  readonly e?: ReadonlyArray<unknown>
  readonly k?: number
  readonly h?: StoredMemory
  readonly q?: ReadonlyArray<string>
}

const notDelayed = {}

const notRaised = {}

const notReplaced = {}

const ofNoActor = {}

const untraced = {}

/** Replaces a raised event that could not be encoded. No machine has an event of this name, so it is refused when it is handled. */
const unfit: Tagged = { _tag: "(unfit)" }

const timeoutTag = "@timeout"

const isTimeout = (event: Tagged): event is TimeoutEvent => event._tag === timeoutTag

export class Codec {
  readonly #compiled: Compiled
  readonly #version: number
  readonly #upcasters: Upcasters
  readonly #states: ReadonlyMap<string, VariantCodec>
  readonly #events: ReadonlyMap<string, VariantCodec>
  readonly #checks: ReadonlyMap<string, ReadonlyArray<FieldCheck>>
  readonly #timeouts = new Map<string, Json>()
  readonly #parameters = new Map<string, (parameters: object) => unknown>()

  constructor(compiled: Compiled, upcasters: Upcasters) {
    this.#compiled = compiled
    this.#version = compiled.declarations.version
    this.#upcasters = upcasters
    const states = codecsOf(compiled.declarations.state, compiled.states)
    const isJson = compiled.declarations.statesAreJson === true
    this.#states = isJson ? withoutSchemas(states, compiled.declarations.state) : states
    this.#checks = isJson ? new Map() : checksOf(compiled.declarations.state)
    this.#events = codecsOf(compiled.declarations.event, compiled.events)
  }

  /** The version of the machine, stored with every value. */
  get version(): number {
    return this.#version
  }

  /** A copy of the event that its sender can no longer change. Only plain data is copied: lists and records, at any depth. */
  copyEvent(event: Tagged): Tagged {
    const { readEvent } = this.#compiled.declarations
    if (readEvent !== undefined) return readEvent(event)
    return this.#events.get(event?._tag)?.copy(event) ?? event
  }

  encodeState(state: Tagged): Json {
    return JSON.stringify(this.stateValue(state))
  }

  /** The state as a JSON value, before it becomes text. */
  stateValue(state: Tagged): unknown {
    return this.#states.get(state._tag)?.encode(state)
  }

  /** The same for the first state of an instance: the error names the field that JSON would lose. */
  firstValue(state: Tagged): unknown {
    const variant = this.#compiled.declarations.state.$variants.get(state._tag)
    if (variant === undefined || isPlain(variant)) return this.stateValue(state)
    try {
      return this.stateValue(state)
    } catch (cause) {
      throw unstorableField(variant, state) ?? cause
    }
  }

  /**
   * Why a new state does not fit its schema; undefined if it does. The journal has only the event, so a state that does not fit would
   * be found when it is read. A field that the state before has as well is not checked again.
   */
  stateProblem(state: Tagged, before: Tagged): string | undefined {
    const checks = this.#checks.get(state._tag)
    if (checks === undefined) return undefined
    const isSame = state._tag === before._tag
    for (const { field, problemOf } of checks) {
      if (isSame && valueIn(state, field) === valueIn(before, field)) continue
      const problem = problemOf(state)
      if (problem !== undefined) return `the new state ${state._tag} does not fit its schema: ${problem}`
    }
    return undefined
  }

  decodeState(body: Json, version: number): Tagged {
    return this.stateOf(parse(body, "state"), version)
  }

  /** A stored state as a JSON object, before it is decoded. */
  parseState(body: Json): object {
    const stored = parse(body, "state")
    if (typeof stored !== "object" || stored === null) throw new Undecodable("the stored state is not an object")
    return stored
  }

  encodeEvent({
    event,
    guardAnswers,
    inlineGuards,
    settled,
    answer,
    failure,
    delays,
    fired,
    raised,
    replaced,
    by,
    trace,
  }: EventBody): Json {
    const isBare =
      guardAnswers.length === 0 &&
      settled === undefined &&
      answer === undefined &&
      failure === undefined &&
      delays === undefined &&
      fired === undefined &&
      raised === undefined &&
      replaced === undefined &&
      by === undefined &&
      trace === undefined
    if (isBare && isTimeout(event)) return this.#encodeTimeout(event)
    const encoded = event._tag === timeoutTag ? event : this.#events.get(event._tag)?.encode(event)
    if (isBare) return JSON.stringify({ v: this.#version, e: encoded } satisfies StoredBody)
    const stored: StoredBody = {
      v: this.#version,
      e: encoded,
      ...(guardAnswers.length === 0 ? {} : inlineGuards === true ? { i: guardAnswers } : { g: guardAnswers }),
      ...(settled === undefined ? {} : { s: this.#encodeSettled(settled) }),
      ...(answer === undefined ? {} : { a: this.#encodeAnswer(event, answer) }),
      ...(failure === undefined ? {} : failure._tag === "Handled" ? { h: failure.problem } : { f: failure.problem }),
      ...(delays === undefined ? {} : { d: delays.map((delay) => this.#encodeDelay(delay)) }),
      ...(fired === undefined ? {} : { t: fired }),
      ...(raised === undefined ? {} : { r: this.encodeRaised(raised) }),
      ...(replaced === undefined ? {} : { o: replaced }),
      ...(by === undefined ? {} : { b: by }),
      ...(trace === undefined ? {} : { p: trace }),
    }
    return JSON.stringify(stored)
  }

  /** All timeouts of one name have the same text, which is encoded once. */
  #encodeTimeout(event: TimeoutEvent): Json {
    const known = this.#timeouts.get(event.name)
    if (known !== undefined) return known
    const encoded = JSON.stringify({ v: this.#version, e: event } satisfies StoredBody)
    this.#timeouts.set(event.name, encoded)
    return encoded
  }

  decodeEvent(body: Json): EventBody {
    const stored = parse(body, "event") as Partial<StoredBody>
    if (typeof stored.v !== "number" || stored.e === undefined) throw new Undecodable("the journaled event has no version or no content")
    const event = stored.e as Tagged
    // A timeout has no content, so it needs no upcaster. An older process still must not replay it: its transition may have changed.
    if (stored.v > this.#version) throw new WrittenByNewer(stored.v, this.#version)
    return {
      event: event?._tag === timeoutTag ? event : this.#event(upcast(this.#upcasters, "event", event, stored.v, this.#version)),
      guardAnswers: stored.i ?? stored.g ?? [],
      inlineGuards: stored.i !== undefined,
      settled: stored.s === undefined ? undefined : this.#decodeSettled(stored.s, stored.v),
      answer: stored.a === undefined ? undefined : this.#decodeAnswer(event, stored.a),
      failure: failureIn(stored),
      ...this.#delaysOf(stored, stored.v),
      ...(stored.r === undefined ? notRaised : { raised: this.decodeRaised(stored.r, stored.v) }),
      ...(stored.o === undefined ? notReplaced : { replaced: stored.o }),
      ...(stored.b === undefined ? ofNoActor : { by: stored.b }),
      ...(stored.p === undefined ? untraced : { trace: stored.p }),
    }
  }

  /** The events that were replaced in the place of a stored body, and the body itself as the last of them. */
  replacing(body: Json, { at, by, reason }: Omit<ReplacedEvent, "body">): ReadonlyArray<ReplacedEvent> {
    const replaced = { at, ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) }
    try {
      const { o = [], ...stored } = parse(body, "event") as Partial<StoredBody>
      return [...o, { ...replaced, body: stored }]
    } catch (error) {
      if (error instanceof Undecodable) return [{ ...replaced, body }]
      throw error
    }
  }

  /** An event that does not fit its schema becomes null: it is refused when it is handled, and the event that raised it is stored. */
  encodeRaised(raised: ReadonlyArray<Tagged>): ReadonlyArray<unknown> {
    return raised.map((event) => {
      try {
        return this.encodeEvents([event])[0] ?? null
      } catch {
        return null
      }
    })
  }

  decodeRaised(stored: ReadonlyArray<unknown>, version: number): ReadonlyArray<Tagged> {
    return stored.map((one) => (one === null ? unfit : (this.decodeEvents([one], version)[0] as Tagged)))
  }

  /**
   * The delayed events that a journaled event set or cancelled, and the name under which it was itself delayed, even if the event
   * can no longer be decoded. Empty where these cannot be read either.
   */
  decodeDelays(body: Json): Pick<EventBody, "delays" | "fired"> {
    try {
      const stored = parse(body, "event") as Partial<StoredBody>
      return this.#delaysOf(stored, stored.v ?? this.#version)
    } catch (error) {
      if (error instanceof Undecodable) return notDelayed
      throw error
    }
  }

  #delaysOf({ d, t }: Pick<StoredBody, "d" | "t">, version: number): Pick<EventBody, "delays" | "fired"> {
    if (d === undefined && t === undefined) return notDelayed
    const delays = d?.map(({ n, u, e }) => ({ name: n, due: u, event: e === undefined ? undefined : this.decodeEvents([e], version)[0] }))
    return { delays, fired: t }
  }

  #encodeDelay({ name, due, event }: DelayedChange): StoredDelay {
    return event === undefined || due === undefined ? { n: name } : { n: name, u: due, e: this.encodeEvents([event])[0] }
  }

  /** Encodes waiting delayed events for a snapshot or the origin of an instance. */
  encodeDelayed(delayed: ReadonlyArray<DelayedEvent>): ReadonlyArray<StoredDelay> {
    return delayed.map(({ entry, ...delay }) => ({ ...this.#encodeDelay(delay), s: entry }))
  }

  decodeDelayed(stored: ReadonlyArray<StoredDelay> = [], version: number): ReadonlyArray<DelayedEvent> {
    return stored.map(({ n, u = 0, e, s = 0 }) => ({ name: n, entry: s, due: u, event: this.decodeEvents([e], version)[0] as Tagged }))
  }

  #encodeSettled({ outcome, moved, state, through, reason, sends, kept = 0, requests = [] }: Settled): StoredSettled {
    const encode = (one: Tagged) => this.#states.get(one._tag)?.encode(one)
    const memory = this.encodeMemory(state)
    return {
      o: outcome,
      m: moved,
      s: encode(state),
      ...(through.length === 0 ? {} : { p: through.map(encode) }),
      ...(reason === undefined ? {} : { r: reason }),
      ...(sends.length === 0 ? {} : { e: this.encodeEvents(sends) }),
      ...(kept === 0 ? {} : { k: kept }),
      ...(memory === undefined ? {} : { h: memory }),
      ...(requests.length === 0 ? {} : { q: requests }),
    }
  }

  #decodeSettled({ o, m, s, p = [], r, e = [], k, h, q = [] }: StoredSettled, version: number): Settled {
    const through = p.map((one) => this.stateOf(one, version))
    const state = this.remembering(this.stateOf(s, version), h, version)
    return { outcome: o, moved: m, state, through, reason: r, sends: this.decodeEvents(e, version), kept: k, requests: q }
  }

  /** The group memory of a state; undefined where it has none. */
  encodeMemory(state: Tagged): StoredMemory | undefined {
    const memory = memoryOf(state)
    if (memory === undefined) return undefined
    return Object.fromEntries([...memory].map(([group, left]) => [group, this.#states.get(left._tag)?.encode(left)]))
  }

  /** A state with its group memory. A remembered state that can no longer be read is dropped: the group is entered anew. */
  remembering(state: Tagged, stored: StoredMemory | undefined, version: number): Tagged {
    if (stored === undefined) return state
    const memory = Object.entries(stored).flatMap(([group, left]): ReadonlyArray<readonly [string, Tagged]> => {
      try {
        return [[group, this.stateOf(left, version)]]
      } catch {
        return []
      }
    })
    return withMemory(state, new Map(memory))
  }

  /** The parameters of a requested effect, as its worker reads them. */
  encodeParameters(slot: string, parameters: object): Json {
    let encode = this.#parameters.get(slot)
    if (encode === undefined) {
      encode = parametersEncoder(this.#compiled.declarations.effectSlots[slot] ?? {})
      this.#parameters.set(slot, encode)
    }
    return JSON.stringify(encode(parameters))
  }

  /** Bare events, without the data of a replay. */
  encodeEvents(events: ReadonlyArray<Tagged>): ReadonlyArray<unknown> {
    return events.map((event) => this.#events.get(event._tag)?.encode(event))
  }

  decodeEvents(stored: ReadonlyArray<unknown>, version: number): ReadonlyArray<Tagged> {
    return stored.map((event) => this.#event(upcast(this.#upcasters, "event", event, version, this.#version)))
  }

  stateOf(value: unknown, version: number): Tagged {
    return decodeIn(this.#states, upcast(this.#upcasters, "state", value, version, this.#version), "state")
  }

  #event(value: unknown): Tagged {
    return decodeIn(this.#events, value, "event")
  }

  #encodeAnswer(event: Tagged, answer: unknown): unknown {
    const reply = this.#compiled.declarations.event.$variants.get(event._tag)?.reply
    // An answer that does not fit is not stored: the caller gets an error, and the transition stands.
    if (reply === undefined || !Schema.is(asSchema(reply))(answer)) return undefined
    return Schema.encodeUnknownSync(Schema.toCodecJson(asSchema(reply)))(answer)
  }

  #decodeAnswer(event: Tagged, answer: unknown): unknown {
    const reply = this.#compiled.declarations.event.$variants.get(event._tag)?.reply
    return reply === undefined ? undefined : Schema.decodeUnknownSync(Schema.toCodecJson(asSchema(reply)))(answer)
  }
}

const failureIn = ({ f, h }: Partial<StoredBody>): CommandFailure | undefined => {
  if (h !== undefined) return { _tag: "Handled", problem: h }
  return f === undefined ? undefined : { _tag: "Failed", problem: f }
}

const isRecord = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Instances of classes are not copied: a copy would lose their class. */
const copyData = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(copyData)
  if (!isRecord(value)) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = copyData(value[key as keyof typeof value])
  return copy
}

const parametersEncoder = (slot: Declarations["effectSlots"][string]): ((parameters: object) => unknown) =>
  storableEncoder(Schema.Struct(asFields(isEffectSlot(slot) ? slot.parameters : slot)) as unknown as Schema.Codec<unknown, unknown>)

const parse = (body: Json, what: string): unknown => {
  try {
    return JSON.parse(body)
  } catch (cause) {
    throw new Undecodable(`the stored ${what} is not JSON: ${String(cause)}`)
  }
}

const decodeIn = (codecs: ReadonlyMap<string, VariantCodec>, value: unknown, what: string): Tagged => {
  const tag = (value as Tagged | null | undefined)?._tag
  const codec = codecs.get(tag as string)
  if (codec === undefined) throw new Undecodable(`${String(tag)} is not ${what === "event" ? "an" : "a"} ${what} of this machine`)
  return codec.decode(value)
}

const codecsOf = (union: UntypedUnion, checks: Compiled["states"]): ReadonlyMap<string, VariantCodec> =>
  new Map(
    [...union.$variants.values()].map((variant) => {
      const bySchema = schemaCodec(variant)
      return [variant.tag, isPlain(variant) ? plainCodec(bySchema, checks.get(variant.tag)) : bySchema]
    }),
  )

interface FieldCheck {
  readonly field: string
  /** Why the field of a state does not fit its schema. */
  readonly problemOf: (state: Tagged) => string | undefined
}

const valueIn = (state: Tagged, field: string): unknown => (state as Tagged & { readonly [field: string]: unknown })[field]

/** The checks of each state's fields, except of plain ones: the compiler checks the type of those. */
const checksOf = ({ $variants }: UntypedUnion): ReadonlyMap<string, ReadonlyArray<FieldCheck>> =>
  new Map(
    [...$variants.values()]
      .filter((variant) => !isPlain(variant))
      .map(({ tag, fields }) => [
        tag,
        Object.entries(fields)
          .filter(([, schema]) => !isPlainField(schema))
          .map(([field, schema]) => fieldCheck(field, schema)),
      ]),
  )

const fieldCheck = (field: string, schema: UntypedVariant["fields"][string]): FieldCheck => {
  const alone = Schema.Struct({ [field]: asSchema(schema) }) as unknown as Schema.Codec<object, unknown>
  const fits = Schema.is(alone)
  return {
    field,
    problemOf: (state) => {
      const given = field in state ? { [field]: valueIn(state, field) } : {}
      if (fits(given)) return undefined
      const result = Schema.decodeUnknownResult(Schema.toType(alone))(given)
      return result._tag === "Failure" ? schemaProblem(alone, result.failure) : `${field} is not valid`
    },
  }
}

/** Encodes values as they are. Values that JSON would lose are still refused: a user function may have changed a value in place. */
const withoutSchemas = (codecs: ReadonlyMap<string, VariantCodec>, { $variants }: UntypedUnion): ReadonlyMap<string, VariantCodec> =>
  new Map(
    [...codecs].map(([tag, codec]) => {
      const check = lossCheck(schemaOfVariant($variants.get(tag) as UntypedVariant))
      const encode = (value: Tagged) => {
        check?.(value)
        return value
      }
      return [tag, { ...codec, encode }]
    }),
  )

const plainCodec = (bySchema: VariantCodec, check: ((value: object) => string | undefined) | undefined): VariantCodec => ({
  encode: (value) => (hasOnlyFinite(value) ? value : bySchema.encode(value)),
  decode: (value) => (check?.(value as object) === undefined ? (value as Tagged) : bySchema.decode(value)),
  copy: (value) => (isRecord(value) ? { ...value } : value),
})

/** JSON has no NaN and no Infinity: only the schema's codec can encode them. */
const hasOnlyFinite = (value: object): boolean => {
  for (const name in value) {
    const content = value[name as keyof typeof value] as unknown
    if (typeof content === "number" && !Number.isFinite(content)) return false
  }
  return true
}

const schemaCodec = (variant: UntypedVariant): VariantCodec => {
  const schema = schemaOfVariant(variant)
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return {
    encode: storableEncoder(schema) as (value: Tagged) => object,
    copy: (value) => copyData(value) as Tagged,
    decode: (value) => {
      const result = decode(value)
      if (result._tag === "Success") return result.success as Tagged
      throw new Undecodable(`the stored ${variant.tag} does not fit its schema: ${schemaProblem(schema, result.failure)}`)
    },
  }
}
