/** States and events of a machine as JSON for users: decoded on input, and without sensitive fields on output. */
import type { KnownMachine } from "@detent/durable"
import { type Blueprint, InvalidEvent, InvalidState } from "@detent/machine"
import {
  asFields,
  asSchema,
  compiledOf,
  finalOutcome,
  firstTag,
  hidden,
  isEffectSlot,
  isPlain,
  isSensitive,
  redactor,
  schemaOfVariant,
  type Tagged,
  type UntypedVariant,
} from "@detent/machine/internal"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { problemOfFields } from "../SchemaProblem.ts"
import { exampleFields } from "./ExampleJson.ts"

export type TaggedJson = { readonly _tag: string } & { readonly [name: string]: Schema.Json }

interface VariantJson {
  /** All fields, sensitive ones too. */
  readonly encode: (value: Tagged) => TaggedJson
  readonly show: (value: Tagged) => TaggedJson
  readonly fields: ReadonlySet<string>
  readonly isSensitive: boolean
  /** Hides the sensitive fields of the variant's JSON. */
  readonly redact: (json: unknown) => unknown
  readonly read: (json: object) => Result.Result<Tagged, string>
  readonly schema: () => Schema.Json
  readonly isQuestion: boolean
  readonly answer: (answer: unknown) => Schema.Json | undefined
}

export interface LegalEvent {
  readonly event: string
  readonly reply: boolean
  readonly targets: ReadonlyArray<string>
  readonly schema: Schema.Json
}

export class MachineJson {
  readonly #machine: KnownMachine
  readonly #states: ReadonlyMap<string, VariantJson>
  readonly #events: ReadonlyMap<string, VariantJson>
  /** The functions that hide sensitive parameters, by slot. */
  readonly #parameters = new Map<string, (value: unknown) => unknown>()

  constructor(machine: KnownMachine) {
    this.#machine = machine
    const { state, event } = compiledOf(machine).declarations
    this.#states = variantsOf(state.$variants)
    this.#events = variantsOf(event.$variants)
  }

  state(state: Tagged): TaggedJson {
    return this.#states.get(state._tag)?.show(state) ?? { _tag: state._tag }
  }

  /** An event that is not in the machine's union, such as a timeout, is returned as it is. */
  event(event: Tagged): TaggedJson {
    return this.#events.get(event._tag)?.show(event) ?? (event as TaggedJson)
  }

  /** The event as JSON with all fields, sensitive ones too: to compare, never to show. */
  encodeEvent(event: Tagged): TaggedJson {
    return this.#events.get(event._tag)?.encode(event) ?? (event as TaggedJson)
  }

  /** An event as it is stored, which may no longer fit its schema. */
  storedEvent(stored: Schema.Json): Schema.Json {
    return this.#withoutSecrets(this.#events, stored)
  }

  /** The same for a state. */
  storedState(stored: Schema.Json): Schema.Json {
    return this.#withoutSecrets(this.#states, stored)
  }

  /** Where a machine has sensitive fields, also hides fields that no schema knows any more: they may have been sensitive. */
  #withoutSecrets(variants: ReadonlyMap<string, VariantJson>, stored: Schema.Json): Schema.Json {
    const hasSecrets = [...this.#states.values(), ...this.#events.values()].some(({ isSensitive: is }) => is)
    if (!hasSecrets || !Predicate.isObject(stored)) return stored
    const { _tag: tag = "", ...fields } = stored as Readonly<Record<string, Schema.Json>>
    const variant = variants.get(String(tag))
    const shown = (variant === undefined ? {} : variant.redact({ _tag: tag, ...fields })) as Readonly<Record<string, Schema.Json>>
    const hide = ([name]: readonly [string, unknown]) => [name, variant?.fields.has(name) === true ? (shown[name] ?? null) : hidden]
    return { _tag: tag, ...Object.fromEntries(Object.entries(fields).map(hide)) }
  }

  /**
   * The event that replaces a stored event. The caller saw the stored event with its secrets hidden: a value that is still hidden is
   * copied from the stored event. Fails where the stored event has no value in that place.
   */
  withStoredSecrets(id: string, event: TaggedJson, stored: Schema.Json): Result.Result<TaggedJson, InvalidEvent> {
    if (!this.#events.get(event._tag)?.isSensitive) return Result.succeed(event)
    const whole = takeOver(event, this.storedEvent(stored), stored) as TaggedJson
    if (!holdsHidden(whole)) return Result.succeed(whole)
    const problem = `it holds ${hidden}, which stands for a hidden value that the stored event does not have there; write the value itself`
    return Result.fail(new InvalidEvent({ machine: this.#machine.name, id, event: event._tag, problem }))
  }

  /** Whether the event has an answer. */
  isQuestion(event: string): boolean {
    return this.#events.get(event)?.isQuestion === true
  }

  answer(event: string, answer: unknown): Schema.Json | undefined {
    return this.#events.get(event)?.answer(answer)
  }

  /** The parameters of a requested effect, without sensitive ones. Undefined where the machine declares no such slot. */
  parameters(slot: string, stored: Schema.Json): Schema.Json | undefined {
    const known = this.#parameters.get(slot) ?? this.#redactorOf(slot)
    if (known === undefined) return undefined
    this.#parameters.set(slot, known)
    return known(stored) as Schema.Json
  }

  #redactorOf(slot: string): ((value: unknown) => unknown) | undefined {
    const { effectSlots } = compiledOf(this.#machine).declarations
    const declared = Object.hasOwn(effectSlots, slot) ? effectSlots[slot] : undefined
    if (declared === undefined) return undefined
    const fields = isEffectSlot(declared) ? declared.parameters : declared
    return redactor(Schema.toCodecJson(Schema.Struct(asFields(fields))))
  }

  readEvent(id: string, json: { readonly _tag: string }): Result.Result<Tagged, InvalidEvent> {
    const refuse = (problem: string) => new InvalidEvent({ machine: this.#machine.name, id, event: json._tag, problem })
    const variant = isOwn(json._tag) ? undefined : this.#events.get(json._tag)
    if (variant === undefined) return Result.fail(refuse(`the events are ${this.eventTags.join(", ") || "none"}`))
    return Result.mapError(variant.read(json), refuse)
  }

  readState(id: string, json: { readonly _tag: string }): Result.Result<Tagged, InvalidState> {
    const refuse = (problem: string) => new InvalidState({ machine: this.#machine.name, id, state: json._tag, problem })
    const variant = this.#states.get(json._tag)
    return variant === undefined
      ? Result.fail(refuse(`the states are ${this.stateTags.join(", ")}`))
      : Result.mapError(variant.read(json), refuse)
  }

  /** Whether an instance that ended in this state has failed. */
  outcome(state: string): "failure" | undefined {
    return finalOutcome(this.#machine, state)
  }

  /** Events that a client can send. */
  get eventTags(): ReadonlyArray<string> {
    return [...this.#events.keys()].filter((tag) => !isOwn(tag))
  }

  get stateTags(): ReadonlyArray<string> {
    return [...this.#states.keys()]
  }

  get eventSchemas(): Readonly<Record<string, Schema.Json>> {
    return Object.fromEntries(this.eventTags.map((tag) => [tag, this.#events.get(tag)?.schema() ?? {}]))
  }

  get stateSchemas(): Readonly<Record<string, Schema.Json>> {
    return Object.fromEntries([...this.#states].map(([tag, { schema }]) => [tag, schema()]))
  }

  /** Whether the machine's first state needs no input: it is a value, or the constructor of a state without fields. */
  get hasFirstState(): boolean {
    const { initial, startState } = compiledOf(this.#machine).declarations
    if (startState !== undefined || typeof initial !== "function") return true
    return "tag" in initial && Object.keys(this.firstFields).length === 0
  }

  /** The default first state, if it is known without an input. */
  get firstState(): string {
    return firstTag(this.#machine)
  }

  /** An example of the fields that the first state needs. */
  get firstFields(): { readonly [name: string]: Schema.Json } {
    return exampleFields(this.#states.get(this.firstState)?.schema() ?? {})
  }

  /** The events that a state has a transition for. A state with parallel regions has the events of its regions. */
  legalEvents(state: string): ReadonlyArray<LegalEvent> {
    const { blueprint } = this.#machine
    const inside = new Set(statesIn(blueprint, state))
    return blueprint.events.flatMap(({ tag, reply }) => {
      if (isOwn(tag)) return []
      const ways = blueprint.transitions.filter(
        (one) => (one._tag === "Event" || one._tag === "Postpone") && one.event === tag && (inside.has(one.from) || one.from === "*"),
      )
      if (ways.length === 0) return []
      const targets = ways.flatMap((way) =>
        way.targets.map((target) => (target._tag === "State" ? target.state : target._tag === "Stay" ? state : "(end)")),
      )
      return [{ event: tag, reply, targets: [...new Set(targets)], schema: this.#events.get(tag)?.schema() ?? {} }]
    })
  }
}

/** Builds the JSON of each machine once. */
export const makeMachineJsons = (): ((machine: KnownMachine) => MachineJson) => {
  const made = new WeakMap<KnownMachine, MachineJson>()
  return (machine) => {
    const known = made.get(machine) ?? new MachineJson(machine)
    made.set(machine, known)
    return known
  }
}

/** The state itself, or the states inside where it is drawn as a group or as the whole diagram. */
const statesIn = ({ states, stateGroups }: Blueprint, state: string): ReadonlyArray<string> => {
  if (states.some(({ tag }) => tag === state)) return [state]
  if (!stateGroups.some(({ name }) => name === state)) return states.map(({ tag }) => tag)
  const parents = new Map(stateGroups.map(({ name, parent }) => [name, parent]))
  const isInside = (group: string | undefined): boolean => group !== undefined && (group === state || isInside(parents.get(group)))
  return states.flatMap(({ tag, group }) => (isInside(group) ? [tag] : []))
}

/** Copies a value and replaces its hidden parts by the stored ones. Skips a list whose length changed: its items may have moved. */
const takeOver = (given: Schema.Json, shown: Schema.Json, stored: Schema.Json): Schema.Json => {
  if (given === hidden) return shown === hidden ? stored : given
  if (Array.isArray(given)) {
    if (!Array.isArray(shown) || !Array.isArray(stored) || shown.length !== given.length) return given
    return given.map((one, index) => takeOver(one, shown[index] ?? null, stored[index] ?? null))
  }
  if (!isRecord(given) || !isRecord(shown) || !isRecord(stored)) return given
  return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, takeOver(one, shown[name] ?? null, stored[name] ?? null)]))
}

const holdsHidden = (value: Schema.Json): boolean =>
  value === hidden || (typeof value === "object" && value !== null && Object.values(value).some(holdsHidden))

const isRecord = (value: Schema.Json): value is { readonly [name: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Events that the engine raises itself, such as timeouts, have names in parentheses. */
const isOwn = (tag: string): boolean => tag.startsWith("(")

const variantsOf = (variants: ReadonlyMap<string, UntypedVariant>): ReadonlyMap<string, VariantJson> =>
  new Map([...variants].map(([tag, variant]) => [tag, variantJson(variant)]))

const variantJson = (variant: UntypedVariant): VariantJson => {
  const codec = Schema.toCodecJson(schemaOfVariant(variant))
  const encode = Schema.encodeUnknownSync(codec)
  const decode = Schema.decodeUnknownResult(codec, { onExcessProperty: "error" })
  const redacted = redactor(codec)
  const plain = isPlain(variant)
  const shown = (value: Tagged) =>
    // JSON has no NaN and no Infinity: the schema's codec encodes them.
    (plain && Object.values(value).every((content) => typeof content !== "number" || Number.isFinite(content))
      ? value
      : encode(value)) as TaggedJson
  const encodeAnswer = variant.reply === undefined ? undefined : answerJson(Schema.toCodecJson(asSchema(variant.reply)))
  return {
    // The round trip through JSON gives the value that the journal stores.
    encode: (value) => JSON.parse(JSON.stringify(encode(value))) as TaggedJson,
    fields: new Set(variant.fieldNames),
    isSensitive: isSensitive(codec),
    redact: redacted,
    show: isSensitive(codec) ? (value) => redacted(shown(value)) as TaggedJson : shown,
    read: (json) => Result.mapError(decode(json), (problem) => problemOfFields(problem, json, codec)) as Result.Result<Tagged, string>,
    schema: () => {
      const { schema, definitions } = Schema.toJsonSchemaDocument(schemaOfVariant(variant))
      return (Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions }) as Schema.Json
    },
    isQuestion: variant.reply !== undefined,
    answer: (answer) => (answer === undefined || encodeAnswer === undefined ? undefined : encodeAnswer(answer)),
  }
}

const answerJson = (codec: Schema.Codec<unknown, unknown>): ((answer: unknown) => Schema.Json) => {
  const encode = Schema.encodeUnknownSync(codec)
  const redacted = redactor(codec)
  return (answer) => redacted(encode(answer)) as Schema.Json
}
