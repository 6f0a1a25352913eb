/**
 * The state in which each group was left last, for `history`. It travels with the state that a decision leads to, so that a
 * decision remains a function of state and event: the property is not enumerable, users do not see it, and a copy of the state
 * does not have it.
 */
import type { Tagged } from "../schema/Variant.ts"

/** States by the name of the group. */
export type GroupMemory = ReadonlyMap<string, Tagged>

const key = Symbol("@detent/machine/GroupMemory")

export const memoryOf = (state: Tagged): GroupMemory | undefined => (state as { readonly [key]?: GroupMemory })[key]

/** The state with a memory of groups. A decision may return the same object many times, so a copy carries the memory. */
export const withMemory = (state: Tagged, memory: GroupMemory | undefined): Tagged =>
  memory === memoryOf(state) ? state : Object.defineProperty({ ...state }, key, { value: memory })

/** The memory after a group was left. States in it have no memory of their own. */
export const remember = (memory: GroupMemory | undefined, group: string, left: Tagged): GroupMemory =>
  new Map(memory).set(group, { ...left })
