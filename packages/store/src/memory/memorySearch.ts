/** Finds instances by indexed fields and labels in memory. */
import { compareText } from "@detent/machine/internal"
import type { InstancePage, InstanceRecord } from "../contract/Journal.ts"
import {
  type FieldCondition,
  type FieldName,
  type FieldsWrite,
  type FieldValue,
  fieldsIn,
  type SearchFilter,
  type SearchPosition,
} from "../contract/Search.ts"
import type { MemoryState } from "./MemoryState.ts"
import { findInstance, isOfLife, isOfRevision } from "./MemoryState.ts"

export const memorySearch = (state: MemoryState, filter: SearchFilter, limit: number, after: SearchPosition | undefined): InstancePage => {
  const { machine, where, order } = filter
  const direction = order?.direction === "descending" ? -1 : 1
  const compare = (left: SearchPosition, right: SearchPosition) =>
    direction * (compareValues(left.value, right.value) || compareText(left.id, right.id))
  const found = [...state.instances.values()]
    .filter(({ record }) => record.machine === machine && matches(record, filter) && where.every((one) => fits(valueOf(record, one), one)))
    .flatMap(({ record }) => {
      const value = order === undefined ? undefined : valueOf(record, order)
      if (order === undefined) return [{ record, position: { id: record.id } }]
      return value === undefined || typeof value !== typeOf(order.kind) ? [] : [{ record, position: { id: record.id, value } }]
    })
    .filter(({ position }) => after === undefined || compare(position, after) > 0)
    .sort((left, right) => compare(left.position, right.position))
  const last = found.length > limit ? found[limit - 1] : undefined
  return {
    instances: found.slice(0, limit).map(({ record }) => record),
    next: last === undefined ? undefined : { machine, updatedAt: 0, ...last.position },
  }
}

const typeOf = (kind: "text" | "number") => (kind === "text" ? "string" : "number")

const matches = (record: InstanceRecord, { tag, status, idPrefix = "", updatedAfter, updatedBefore }: SearchFilter): boolean =>
  (tag === undefined || tag.includes(record.tag)) &&
  (status === undefined || record.status === status) &&
  record.id.startsWith(idPrefix) &&
  (updatedAfter === undefined || record.updatedAt > updatedAfter) &&
  (updatedBefore === undefined || record.updatedAt < updatedBefore)

const valueOf = ({ fields, labels }: InstanceRecord, { name, isLabel }: FieldName): FieldValue | undefined => {
  const values = fieldsIn(isLabel ? labels : fields)
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return typeof value === "boolean" ? Number(value) : value
}

const compareValues = (left: FieldValue | undefined, right: FieldValue | undefined): number =>
  typeof left === "string" && typeof right === "string" ? compareText(left, right) : Number(left ?? 0) - Number(right ?? 0)

const fits = (value: FieldValue | undefined, { equals, above, atLeast, below, atMost }: FieldCondition): boolean => {
  const limits = [equals, above, atLeast, below, atMost].filter((one) => one !== undefined)
  if (value === undefined || limits.some((one) => typeof one !== typeof value)) return false
  return (
    (equals === undefined || value === equals) &&
    (above === undefined || compareValues(value, above) > 0) &&
    (atLeast === undefined || compareValues(value, atLeast) >= 0) &&
    (below === undefined || compareValues(value, below) < 0) &&
    (atMost === undefined || compareValues(value, atMost) <= 0)
  )
}

/** Returns the ids of the instances that have changed since they were read. */
export const memoryWriteFields = (state: MemoryState, machine: string, writes: ReadonlyArray<FieldsWrite>): ReadonlyArray<string> =>
  writes.flatMap(({ id, startedAt, sequence, revision, fields }) => {
    const instance = findInstance(state, { machine, id })
    const seen = { startedAt, revision }
    if (instance?.record.sequence !== sequence || !isOfLife(instance, seen) || !isOfRevision(instance, seen)) return [id]
    instance.record = { ...instance.record, fields }
    return []
  })
