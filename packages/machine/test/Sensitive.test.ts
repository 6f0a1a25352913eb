import { it as effectIt } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Formatter from "effect/Formatter"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { Dot, Mermaid } from "../src/diagram/index.ts"
import { Event, Machine, State, stay } from "../src/index.ts"
import { compiledOf, eventProblem, isSensitive, redactor, schemaProblem } from "../src/internal.ts"
import { explore, simulate } from "../testing/index.ts"

type AnySchema = Schema.Codec<unknown, unknown>

/** A schema with one of its values, and values of the same shape that do not fit. */
interface Sample {
  readonly schema: AnySchema
  readonly value: unknown
  readonly wrong: unknown
}

const secret = "s3cr3t-4711"
const plain = "plain-text"

const of = (schema: Schema.Constraint, value: unknown, wrong: unknown): Sample => ({ schema: schema as AnySchema, value, wrong })

/** Secrets to begin with: each names its value when it refuses it. */
const secrets: ReadonlyArray<Sample> = [
  of(State.sensitive(Schema.String), secret, { [secret]: secret }),
  of(
    Event.sensitive(Schema.String).check(Schema.makeFilter((text) => text.length < 20 || `${text} is too long`)),
    secret,
    secret.repeat(3),
  ),
  of(State.sensitive(Schema.String.check(Schema.isMinLength(3))).check(Schema.isMaxLength(40)), secret, secret.repeat(9)),
  of(Schema.Redacted(Schema.String), Redacted.make(secret), secret),
  of(Schema.RedactedFromValue(Schema.String), Redacted.make(secret), secret),
  of(State.sensitive(Schema.Struct({ pin: Schema.String })), { pin: secret }, { pin: [secret] }),
  of(State.sensitive(Schema.NullOr(Schema.String)), secret, [secret]),
  of(State.sensitive(Schema.Array(Schema.String)), [secret], [[secret]]),
  of(Schema.Record(State.sensitive(Schema.String), Schema.Number), { [secret]: 1 }, { [secret]: "x" }),
  of(Schema.TemplateLiteral(["key ", State.sensitive(Schema.String)]), `key ${secret}`, secret),
  of(State.sensitive(Schema.String).pipe(Schema.decodeTo(Schema.Trim)), secret, [secret]),
]

/** Ways to put a schema into another one. */
const wrappers: ReadonlyArray<(inner: Sample) => Sample> = [
  ({ schema, value, wrong }) => of(Schema.NullOr(schema), value, wrong),
  ({ schema, value, wrong }) => of(Schema.Union([Schema.Number, schema]), value, wrong),
  ({ schema, value, wrong }) =>
    of(Schema.Struct({ note: Schema.String, inner: schema }), { note: plain, inner: value }, { note: plain, inner: wrong }),
  ({ schema, value, wrong }) => of(Schema.Struct({ inner: Schema.optionalKey(schema) }), { inner: value }, { inner: wrong }),
  ({ schema, value, wrong }) => of(Schema.Array(schema), [value, value], [value, wrong]),
  ({ schema, value, wrong }) => of(Schema.Tuple([Schema.String, schema]), [plain, value], [plain, wrong]),
  ({ schema, value, wrong }) => of(Schema.Record(Schema.String, schema), { one: value }, { one: wrong }),
  ({ schema, value }) => of(Schema.Option(schema), Option.some(value), secret),
  ({ schema, value }) => of(Schema.HashMap(Schema.String, schema), HashMap.make(["one", value]), secret),
  ({ schema, value, wrong }) =>
    of(
      Schema.suspend(() => schema),
      value,
      wrong,
    ),
  ({ schema, value, wrong }) =>
    of(
      Schema.Union([
        Schema.TaggedStruct("A", { inner: schema, note: Schema.String }),
        Schema.TaggedStruct("B", { inner: Schema.Unknown, note: Schema.String }),
      ]),
      { _tag: "A", inner: value, note: plain },
      { _tag: "A", inner: wrong, note: plain },
    ),
  // A suspended schema takes no checks.
  ({ schema, value, wrong }) => of(schema.ast._tag === "Suspend" ? schema : schema.check(Schema.makeFilter(() => true)), value, wrong),
  ({ schema, value, wrong }) => {
    class Kept extends Schema.Class<Kept>("Kept")({ note: Schema.String, inner: schema as Schema.Codec<unknown, unknown> }) {}
    return of(Kept, new Kept({ note: plain, inner: value }), { note: plain, inner: wrong })
  },
]

const choices = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))), {
  minLength: 1,
  maxLength: 5,
})

const sampleOf = ([first = 0, ...rest]: ReadonlyArray<number>): Sample =>
  rest.reduce(
    (inner, choice) => (wrappers[choice % wrappers.length] as (typeof wrappers)[number])(inner),
    secrets[first % secrets.length] as Sample,
  )

/** A machine that keeps the value in a state and takes it by an event. */
const machineOf = ({ schema, value }: Sample) => {
  const S = State({ Idle: { kept: schema }, Other: { kept: schema, note: Schema.String } })
  const E = Event({ Take: { given: schema, note: Schema.String }, Break: { given: schema } })
  const machine = Machine.make({ name: "vault", state: S, event: E, initial: S.Idle({ kept: value }) })
    .on(S.Idle, E.Take, S.Other, ({ event }) => S.Other({ kept: event.given, note: event.note }))
    .on(S.Idle, E.Break, stay, () => {
      throw new Error("broken")
    })
  return { S, E, machine }
}

describe("what is sensitive", () => {
  effectIt.effect.prop(
    "stays hidden in traces, diagrams, reports, JSON and problems, wherever it stands",
    { chosen: choices },
    ({ chosen }) =>
      Effect.sync(() => {
        const made = sampleOf(chosen)
        const { E, machine } = machineOf(made)
        const event = E.Take({ given: made.value, note: plain })
        const { trace } = simulate(machine, undefined as never, [event])
        const shown = [
          JSON.stringify(trace),
          Formatter.format(trace),
          Mermaid.sequence(trace, { fields: true }),
          Mermaid.stateDiagram(machine, { fields: true, trace }),
          Dot.timeline(trace),
        ]
        const codec = Schema.toCodecJson(made.schema)
        const json = Schema.encodeUnknownSync(codec)(made.value)
        shown.push(JSON.stringify(redactor(codec)(json)))
        shown.push(String(eventProblem(compiledOf(machine), E.Take({ given: made.wrong, note: plain }))))
        shown.push(...explore(machine, { samples: 2, rounds: 2 }).throwing.map((one) => one.sample.text))
        const decoded = Schema.decodeUnknownResult(codec)(made.wrong)
        if (decoded._tag === "Failure") shown.push(schemaProblem(codec, decoded.failure))
        expect(isSensitive(made.schema)).toBe(true)
        for (const text of shown) expect(text).not.toContain(secret)
        expect(trace.steps[0]?.fields["note"]).toBe(plain)
      }),
    { arbitrary: { runs: 300 } },
  )

  it("is all that is hidden in structs, arrays, records, unions and classes", () => {
    class Card extends Schema.Class<Card>("Card")({ holder: Schema.String, number: State.sensitive(Schema.String) }) {}
    const schema = Schema.Struct({
      cards: Schema.Array(Card),
      byBank: Schema.Record(Schema.String, Schema.Struct({ iban: State.sensitive(Schema.String), bic: Schema.String })),
      way: Schema.Union([
        Schema.TaggedStruct("Code", { code: State.sensitive(Schema.String) }),
        Schema.TaggedStruct("Free", { code: Schema.String }),
      ]),
      pin: Schema.NullOr(State.sensitive(Schema.String)),
      phrase: Schema.Option(State.sensitive(Schema.String)),
      token: Schema.Redacted(Schema.String),
    })
    const value = {
      cards: [new Card({ holder: "Ada", number: "4242" })],
      byBank: { first: { iban: "DE1", bic: "B1" } },
      way: { _tag: "Free" as const, code: "GIFT" },
      pin: null,
      phrase: Option.some("open"),
      token: Redacted.make("t"),
    }
    const shown = {
      cards: [{ holder: "Ada", number: "•••" }],
      byBank: { first: { iban: "•••", bic: "B1" } },
      way: { _tag: "Free", code: "GIFT" },
      pin: null,
      phrase: "•••",
      token: "•••",
    }
    expect(redactor(schema)(value)).toEqual(shown)
    const codec = Schema.toCodecJson(schema)
    expect(redactor(codec)(Schema.encodeUnknownSync(codec)(value))).toEqual(shown)
    expect(redactor(schema)({ ...value, pin: "4711", way: { _tag: "Code", code: "4711" } })).toEqual({
      ...shown,
      pin: "•••",
      way: { _tag: "Code", code: "•••" },
    })
  })

  it("is found in schemas that contain themselves", () => {
    interface Tree {
      readonly pin: string
      readonly note: string
      readonly below: ReadonlyArray<Tree>
    }
    const Tree: Schema.Codec<Tree> = Schema.Struct({
      pin: State.sensitive(Schema.String),
      note: Schema.String,
      below: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)),
    })
    const leaf = { pin: "1", note: "a", below: [] }
    expect(redactor(Tree)({ pin: "2", note: "b", below: [leaf] })).toEqual({
      pin: "•••",
      note: "b",
      below: [{ pin: "•••", note: "a", below: [] }],
    })
  })

  it("is not quoted where a value does not fit, but the place and what is expected are", () => {
    const schema = Schema.Struct({
      pin: State.sensitive(Schema.String).check(Schema.makeFilter((pin) => pin.length === 4 || `${pin} has no four digits`)),
      code: State.sensitive(Schema.Number),
      name: Schema.String.check(Schema.makeFilter((name) => name !== "" || "a name is needed")),
    })
    const decoded = Schema.decodeUnknownResult(schema)({ pin: "47110", code: "12", name: "" }, { errors: "all" })
    const problem = decoded._tag === "Failure" ? schemaProblem(schema, decoded.failure) : ""
    expect(problem).toBe("pin: Expected a valid value; code: Expected number; name: a name is needed")
  })
})
