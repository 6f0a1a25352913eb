/** The data form: its JSON Schema, and the way to JSON and back. */
import { readFileSync } from "node:fs"
import { Event, Machine, State, stay, stop } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { EntityWorkflow, Processor, Registry, type WorkflowDefinition } from "../src/index.ts"
import { Ticket } from "./tickets.ts"
import { schemaFile, schemaText } from "./writeSchema.ts"

describe("the JSON Schema", () => {
  it("that is checked in is current; npx node packages/entity/test/writeSchema.ts writes it", () => {
    expect(readFileSync(schemaFile, "utf8")).toBe(schemaText())
  })

  it("forbids unknown fields, and describes the known ones", () => {
    const { $defs } = JSON.parse(schemaText())
    expect($defs.Transition.additionalProperties).toBe(false)
    expect($defs.EntityWorkflow.additionalProperties).toBe(false)
    expect($defs.Transition.properties.criteriaAfter.description).toContain("check the entity after the processors")
  })
})

const name = Schema.Literals(["a", "b", "c d", "état", 'x"y', "\\", "e\u0301", "\u{1F600}", "0", "null", "toString"])
const names = Schema.Array(name)
const processors = ["p", "q"] as const
const criteria = ["c1", "c2"] as const

const retry = Schema.Struct({
  attempts: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  delay: Schema.optionalKey(Schema.Literals(["1 second", "1.5 minutes", 250])),
  backoff: Schema.optionalKey(Schema.Literals(["fixed", "exponential"])),
  factor: Schema.optionalKey(Schema.Literals([1, 1.5])),
  longest: Schema.optionalKey(Schema.Literals(["2 hours"])),
})

const Outline = Schema.Struct({
  version: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 99 }))),
  description: Schema.optionalKey(Schema.String),
  states: names,
  transitions: Schema.Array(
    Schema.Struct({
      from: Schema.Union([Schema.Literal("*"), names.check(Schema.isMinLength(1)), name]),
      to: name,
      manual: Schema.optionalKey(Schema.Boolean),
      processors: Schema.optionalKey(
        Schema.Array(Schema.Union([Schema.Literals(processors), Schema.Struct({ name: Schema.Literals(processors), retry })])),
      ),
      criteria: Schema.optionalKey(Schema.Array(Schema.Literals(criteria))),
      criteriaAfter: Schema.optionalKey(Schema.Boolean),
      description: Schema.optionalKey(Schema.String),
    }),
  ),
  failing: Schema.Boolean,
})

/** Of a random outline, a definition that is sound: its states are there once, and something leaves the first. */
const definitionOf = ({ states, transitions, failing, ...rest }: typeof Outline.Type): WorkflowDefinition => {
  const all = [
    ...new Set(["start", "end", ...states, ...transitions.flatMap(({ from, to }) => [to, ...(from === "*" ? [] : [from].flat())])]),
  ]
  return {
    ...rest,
    name: "round trip",
    initial: "start",
    states: all,
    transitions: [
      { name: "leave", from: "start", to: "end", manual: true },
      ...transitions.map((one, index) => ({
        ...one,
        name: `t${index}`,
        from: Array.isArray(one.from) ? [...new Set(one.from)] : one.from,
        // Whatever their circles are, they could stop.
        criteria: one.criteria?.length === 0 || one.criteria === undefined ? (["c1"] as const) : one.criteria,
      })),
    ],
    ...(failing ? { failure: "leave" } : {}),
  }
}

const registry = Registry.make(Ticket, {
  processors: { p: Processor.pure((entity) => entity), q: Processor.effect((entity) => Effect.succeed(entity)) },
  criteria: { c1: () => true, c2: () => false },
})

describe("a workflow written as JSON", () => {
  it.prop("and read again is the same workflow", [Outline], ([outline]) => {
    const definition = definitionOf(outline)
    const read = Effect.runSync(EntityWorkflow.fromJson(EntityWorkflow.toJson({ definition }), registry))
    expect(read.definition).toEqual(definition)
    expect(EntityWorkflow.toJson(read)).toBe(EntityWorkflow.toJson({ definition }))
    expect(read.machine.blueprint).toEqual(EntityWorkflow.make(registry, definition as never).machine.blueprint)
  })
})

describe("a machine exported as a workflow", () => {
  const S = State({ Idle: {}, Running: State.group({ Fast: {}, Slow: {} }), Done: {} })
  const E = Event({ Go: {}, Shift: {}, Ping: {}, Kill: {}, Cancel: {} })
  const machine = Machine.make({ name: "engine", version: 3, state: S, event: E, initial: S.Idle() })
    .on(S.Idle, E.Go, [S.Fast, S.Slow], () => S.Fast(), { guard: () => true, guardName: "fuelled", description: "Starts it." })
    .on(S.Running, E.Shift, S.Slow)
    .always(S.Slow, () => false, S.Done)
    .on(S.Fast, E.Ping, stay)
    .on(S.Slow, E.Kill, stop("killed"))
    .onAny(E.Cancel, S.Done)
    .timeout(S.Fast, "1 hour", S.Slow)
    .final(S.Done)

  it("has its events as manual transitions, its guards as criteria, and says what it could not express", () => {
    const { definition, omitted } = Result.getOrThrow(EntityWorkflow.exportMachine(machine))
    expect(definition).toEqual({
      name: "engine",
      version: 3,
      initial: "Idle",
      states: ["Idle", "Fast", "Slow", "Done"],
      ends: ["Done"],
      transitions: [
        { name: "Go", from: "Idle", to: "Fast", manual: true, criteria: ["fuelled"], description: "Starts it." },
        { name: "Go_to_Slow", from: "Idle", to: "Slow", manual: true, criteria: ["fuelled"], description: "Starts it." },
        { name: "Shift", from: "Fast", to: "Slow", manual: true },
        { name: "Shift", from: "Slow", to: "Slow", manual: true },
        { name: "to_Done", from: "Slow", to: "Done" },
        { name: "Cancel", from: "*", to: "Done", manual: true },
      ],
    })
    expect(omitted).toEqual([
      "Ping of Fast: it stays",
      "Kill of Slow: it stops the machine",
      "the timeout timeout of Fast",
      "the group Running: its states are exported without it",
    ])
    const stubs = Registry.make(Ticket, { criteria: { fuelled: () => true } })
    const read = Effect.runSync(EntityWorkflow.fromJson(EntityWorkflow.toJson({ definition }), stubs))
    expect(read.definition).toEqual(definition)
  })

  it("of a workflow's own machine is the workflow, but for what a machine does not tell", () => {
    const workflow = EntityWorkflow.make(registry, {
      name: "own",
      version: 2,
      states: ["a", "b", "c"],
      initial: "a",
      transitions: [
        { name: "go", from: "a", to: "b", manual: true, processors: ["p", "q"], criteria: ["c1"] },
        { name: "back", from: "b", to: "a", manual: true },
        { name: "leave", from: "*", to: "c", manual: true },
      ],
    })
    const { definition, omitted } = Result.getOrThrow(EntityWorkflow.exportMachine(workflow.machine))
    expect(definition).toEqual({ ...workflow.definition, ends: ["c"] })
    expect(omitted).toEqual([])
  })
})
