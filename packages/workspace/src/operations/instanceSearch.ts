/**
 * Searches of instances by indexed fields and labels, as a text of conditions: `customer=ada, total>100, label.incident="42"`. A value with a
 * comma, or with spaces at its ends, is a JSON text. The machine's indexes say how a value is read.
 */
import { Engine, type InstanceKey, type InstanceList, type KnownMachine, SearchRefused } from "@detent/durable"
import type { IndexKind } from "@detent/machine"
import * as Effect from "effect/Effect"
import { findMachine } from "./find.ts"

/** An order by the time of the last change, or by a field, as in `dueAt:asc`. */
export type SearchOrder = string

/** The longest text of conditions, in characters. */
export const longestWhere = 8000

const operators: ReadonlyArray<readonly [sign: string, name: string]> = [
  [">=", "atLeast"],
  ["<=", "atMost"],
  ["^=", "startsWith"],
  ["=", "is"],
  [">", "above"],
  ["<", "below"],
]

const signs = operators.map(([sign]) => sign).join(" ")

interface Condition {
  readonly name: string
  readonly operator: string
  readonly value: string
}

const parsed = (machine: string, text: string): Effect.Effect<ReadonlyArray<Condition>, SearchRefused> =>
  Effect.gen(function* () {
    const refuse = (problem: string) =>
      Effect.fail(
        new SearchRefused({ machine, problem, nextStep: `write conditions such as customer=ada, total>100; the signs are ${signs}` }),
      )
    if (text.length > longestWhere) return yield* refuse(`the conditions have ${text.length} characters, the limit is ${longestWhere}`)
    const conditions: Array<Condition> = []
    for (let at = 0; at < text.length; ) {
      const name = /^[a-zA-Z][\w.-]*/.exec(text.slice(at).trimStart())?.[0]
      at = text.length - text.slice(at).trimStart().length
      if (name === undefined) return yield* refuse(`${JSON.stringify(text.slice(at, at + 20))} begins with no name of a field`)
      at += name.length
      while (text[at] === " ") at++
      const operator = operators.find(([sign]) => text.startsWith(sign, at))
      if (operator === undefined) return yield* refuse(`${name} is followed by no sign`)
      at += operator[0].length
      while (text[at] === " ") at++
      const end = endOfValue(text, at)
      const value = valueIn(text.slice(at, end).trimEnd())
      if (value === undefined) return yield* refuse(`the value of ${name} is no JSON text`)
      conditions.push({ name, operator: operator[1], value })
      at = end
      if (at < text.length && text[at] !== ",") return yield* refuse(`the value of ${name} is followed by ${JSON.stringify(text[at])}`)
      at++
    }
    return conditions
  })

const endOfValue = (text: string, from: number): number => {
  let at = from
  if (text[at] === '"') {
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++
    for (at++; text[at] === " "; ) at++
    return Math.min(at, text.length)
  }
  const comma = text.indexOf(",", at)
  return comma < 0 ? text.length : comma
}

const valueIn = (text: string): string | undefined => {
  if (!text.startsWith('"')) return text
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "string" ? value : undefined
  } catch {
    // The caller says which value it is.
    return undefined
  }
}

const labelPrefix = "label."

/** A value of the kind of its field. What does not fit stays a text, which the search refuses with the values that fit. */
const readAs = (kind: IndexKind | undefined, value: string): string | number | boolean => {
  if (kind === "boolean") return value === "true" ? true : value === "false" ? false : value
  if ((kind === "number" || kind === "instant") && value !== "" && Number.isFinite(Number(value))) return Number(value)
  return value
}

type Limits = Readonly<Record<string, unknown>>

/** Conditions on the same field become one. */
const combined = (
  conditions: ReadonlyArray<Condition>,
  kindOf: (name: string) => IndexKind | undefined,
): Readonly<Record<string, unknown>> => {
  const fields = new Map<string, unknown>()
  for (const { name, operator, value } of conditions) {
    const read = readAs(kindOf(name), value)
    const before = fields.get(name)
    fields.set(name, operator === "is" ? read : { ...(typeof before === "object" ? (before as Limits) : {}), [operator]: read })
  }
  return Object.fromEntries(fields)
}

const orderOf = (machine: string, order: SearchOrder | undefined): Effect.Effect<Readonly<Record<string, string>>, SearchRefused> => {
  if (order === undefined || order === "oldest" || order === "newest") return Effect.succeed({})
  const [name = "", direction] = order.split(":")
  if (direction === "asc" || direction === "desc") return Effect.succeed({ [name]: direction === "asc" ? "ascending" : "descending" })
  const problem = `${JSON.stringify(order.slice(0, 40))} is no order`
  return Effect.fail(
    new SearchRefused({ machine, problem, nextStep: "give oldest, newest, or a field with :asc or :desc, such as dueAt:asc" }),
  )
}

export interface FieldQuery {
  readonly machine?: string | undefined
  readonly where?: string | undefined
  readonly order?: SearchOrder | undefined
}

/** Whether a list is one of indexed fields or labels. */
export const isFieldSearch = ({ where, order }: FieldQuery): boolean =>
  (where !== undefined && where.trim() !== "") || (order !== undefined && order !== "oldest" && order !== "newest")

/** A page of the instances that fit. The other options are those of {@link Engine}'s `search`. */
export const searchFields = Effect.fn("instanceSearch.searchFields")(function* (
  { machine: name, where = "", order }: FieldQuery,
  options: Omit<Parameters<(typeof Engine)["Service"]["search"]>[1], "where" | "labels" | "order">,
) {
  if (name === undefined) {
    const problem = "conditions on fields, and an order by one, are on the indexes of one machine"
    return yield* new SearchRefused({ machine: "(any)", problem, nextStep: "name the machine" })
  }
  const { machine } = yield* findMachine(name)
  const conditions = yield* parsed(name, where)
  const isLabel = (one: Condition) => one.name.startsWith(labelPrefix)
  const labels = conditions.filter(isLabel).map((one) => ({ ...one, name: one.name.slice(labelPrefix.length) }))
  const ofFields = conditions.filter((one) => !isLabel(one))
  const page: InstanceList = yield* (yield* Engine).search(machine, {
    ...options,
    where: combined(ofFields, (field) => kindIn(machine, field)),
    labels: combined(labels, () => "text"),
    order: yield* orderOf(name, order),
  })
  return page
})

const kindIn = ({ blueprint }: KnownMachine, field: string): IndexKind | undefined =>
  blueprint.indexes?.find((one) => one.name === field)?.kind

/** Sets labels of an instance, and removes those that are null. Returns all. */
export const label = (key: InstanceKey, labels: Readonly<Record<string, string | null>>) =>
  Effect.flatMap(Engine, (engine) => Effect.map(engine.label(key, labels), (all) => ({ machine: key.machine, id: key.id, labels: all })))

/** How far the indexes of a machine are filled; undefined where it has none. */
export const indexProgress = (machine: KnownMachine) =>
  Effect.map(
    Effect.flatMap(Engine, (engine) => engine.indexes(machine)),
    (found) => (found._tag === "None" ? undefined : found.value),
  )
