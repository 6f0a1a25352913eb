/** Turns conditions on the indexed fields of a machine and on labels into a search of the store, and refuses those that make no sense. */
import type { IndexBlueprint, IndexKind } from "@detent/machine"
import { afterPrefix, type FieldCondition, type FieldOrdering, mostLabels, textProblem } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { millisOf } from "../machine/IndexedValues.ts"

/** The conditions of a search cannot be used. */
export class SearchRefused extends Schema.TaggedError<SearchRefused>()("SearchRefused", {
  machine: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `machine ${this.machine} cannot be searched: ${this.problem}; ${this.nextStep}`
  }
}

/** Conditions as a caller gives them, before they are checked. */
export interface SearchConditions {
  readonly where?: Readonly<Record<string, unknown>> | undefined
  readonly labels?: Readonly<Record<string, unknown>> | undefined
  readonly order?: Readonly<Record<string, unknown>> | undefined
}

export interface FieldSearch {
  readonly where: ReadonlyArray<FieldCondition>
  readonly order?: FieldOrdering
}

/** The most conditions of one search. */
export const mostConditions = 10

const operators = ["above", "atLeast", "below", "atMost", "startsWith"] as const

export const fieldSearch = (
  machine: string,
  indexes: ReadonlyArray<IndexBlueprint>,
  { where = {}, labels = {}, order = {} }: SearchConditions,
): Effect.Effect<FieldSearch, SearchRefused> =>
  Effect.gen(function* () {
    const refuse = (problem: string, nextStep: string) => Effect.fail(new SearchRefused({ machine, problem, nextStep }))
    const indexOf = (name: string) => {
      const found = indexes.find((one) => one.name === name)
      const names = indexes.map((one) => one.name)
      if (found !== undefined) return Effect.succeed(found)
      return names.length === 0
        ? refuse(
            `it has no index ${shown(name)}`,
            `declare one with .index({ ${/^\w{1,40}$/.test(name) ? name : "name"}: (state) => ... })`,
          )
        : refuse(`it has no index ${shown(name)}`, `its indexes are ${names.join(", ")}`)
    }
    const given = [...Object.entries(where), ...Object.entries(labels)].filter(([, value]) => value !== undefined)
    if (given.length > mostConditions)
      return yield* refuse(
        `${given.length} conditions are too many`,
        `give at most ${mostConditions}, those that the fewest instances fit first`,
      )
    const conditions: Array<FieldCondition> = []
    for (const [name, value] of Object.entries(where)) {
      if (value === undefined) continue
      const { kind } = yield* indexOf(name)
      const condition = conditionOf(name, kind, value)
      if ("problem" in condition) return yield* refuse(condition.problem, condition.nextStep)
      conditions.push({ name, isLabel: false, ...condition })
    }
    for (const [name, value] of Object.entries(labels)) {
      if (value === undefined) continue
      const condition = conditionOf(name, "text", value)
      if ("problem" in condition) return yield* refuse(condition.problem, condition.nextStep)
      conditions.push({ name, isLabel: true, ...condition })
    }
    const orders = Object.entries(order).filter(([, direction]) => direction !== undefined)
    const [first, second] = orders
    if (first === undefined) return { where: conditions }
    if (second !== undefined) return yield* refuse("it would be ordered by several fields", "order by one; equal values are ordered by id")
    const [name, direction] = first
    if (direction !== "ascending" && direction !== "descending")
      return yield* refuse(`${shown(String(direction))} is no order`, "give ascending or descending")
    const { kind } = yield* indexOf(name)
    return { where: conditions, order: { name, isLabel: false, kind: kind === "text" ? "text" : "number", direction } }
  })

const shown = (name: string): string => (name.length > 40 ? `${name.slice(0, 40).toWellFormed()}…` : name)

interface Problem {
  readonly problem: string
  readonly nextStep: string
}

type Limits = Omit<FieldCondition, "name" | "isLabel">

const conditionOf = (name: string, kind: IndexKind, given: unknown): Limits | Problem => {
  const isRange = typeof given === "object" && given !== null && operators.some((operator) => operator in given)
  if (!isRange) {
    const value = valueOf(name, kind, given)
    return "problem" in value ? value : { equals: value.value }
  }
  const unknown = Object.keys(given).filter((operator) => !operators.includes(operator as never))
  if (unknown.length > 0)
    return { problem: `${shown(unknown.join(", "))} is no condition on ${name}`, nextStep: `the conditions are ${operators.join(", ")}` }
  if (kind === "boolean") return { problem: `${name} is true or false, and has no range`, nextStep: `give true or false` }
  const limits: { -readonly [K in keyof Limits]: Limits[K] } = {}
  for (const [operator, one] of Object.entries(given)) {
    if (one === undefined) continue
    const value = valueOf(name, kind, one)
    if ("problem" in value) return value
    if (operator !== "startsWith") {
      limits[operator as "above"] = value.value
      continue
    }
    if (typeof value.value !== "string")
      return { problem: `${name} is ${article(kind)}, and startsWith needs a text`, nextStep: "give above, atLeast, below or atMost" }
    if ("atLeast" in given || "below" in given)
      return { problem: `startsWith of ${name} stands beside atLeast or below`, nextStep: "give one of them" }
    limits.atLeast = value.value
    const end = afterPrefix(value.value)
    if (end !== undefined) limits.below = end
  }
  return Object.keys(limits).length === 0
    ? { problem: `the condition on ${name} is empty`, nextStep: "give a value, or leave it out" }
    : limits
}

const article = (kind: IndexKind): string => (kind === "instant" ? "an instant" : `a ${kind}`)

const examples: Readonly<Record<IndexKind, string>> = {
  text: 'give a text, such as "ada"',
  number: "give a number, such as 100",
  instant: "give a date, an ISO text such as 2026-01-31T12:00:00Z, or milliseconds since 1970",
  boolean: "give true or false",
}

const valueOf = (name: string, kind: IndexKind, given: unknown): { readonly value: string | number } | Problem => {
  const wrong = { problem: `${name} is ${article(kind)}, and ${describe(given)} is none`, nextStep: examples[kind] }
  if (kind === "text") {
    if (typeof given !== "string") return wrong
    const problem = textProblem(`condition on ${name}`, given)
    return problem === undefined ? { value: given } : { problem, nextStep: "indexed texts are no longer than that" }
  }
  if (kind === "boolean") return typeof given === "boolean" ? { value: Number(given) } : wrong
  const number = kind === "number" ? (typeof given === "number" ? given : undefined) : millisOf(given)
  return number === undefined || !Number.isFinite(number) ? wrong : { value: number }
}

const describe = (given: unknown): string => {
  if (typeof given === "string") return JSON.stringify(shown(given))
  return typeof given === "object" ? (given === null ? "null" : "an object") : String(given)
}

/** The labels cannot be stored. */
export class LabelsRefused extends Schema.TaggedError<LabelsRefused>()("LabelsRefused", {
  machine: Schema.String,
  id: Schema.String,
  problem: Schema.String,
  nextStep: Schema.String,
}) {
  override get message() {
    return `the labels of ${this.machine} ${this.id} stay as they are: ${this.problem}; ${this.nextStep}`
  }
}

export const tooManyLabels = (count: number) => ({
  problem: `it would have ${count} labels, the limit is ${mostLabels}`,
  nextStep: "remove some by setting them to null",
})
