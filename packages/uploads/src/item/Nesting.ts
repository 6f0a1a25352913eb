/**
 * The limit of nesting in items. Code that walks a value, such as a schema or `JSON.stringify`, recurses once or more per level, and
 * overflows the stack on an item that is nested without a limit.
 */
import { deepestNesting } from "@detent/tables"
import type { ItemProblem } from "./ItemProblem.ts"

/** Whether a text can be nested too deeply: each level has at least two characters. */
export const mayBeTooDeep = (text: string): boolean => text.length > 2 * deepestNesting

/** Whether a value has more levels of objects and arrays. A value that contains itself has. */
export const isTooDeep = (value: unknown, levels = deepestNesting): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  for (const one of Array.isArray(value) ? value : Object.values(value)) if (isTooDeep(one, levels - 1)) return true
  return false
}

export const tooDeep: ItemProblem = {
  reason: "invalid_field",
  message: `it is nested too deeply: it has more than ${deepestNesting} levels of objects and arrays; write it in a flatter way`,
}
