/** Merges sorted parts into one sorted sequence in which no line is repeated. */
import { compareCodePoints } from "./CodePointOrder.ts"
import type { Part } from "./LinePart.ts"

/** Where the merging stands in one part. */
interface Cursor {
  readonly batches: AsyncGenerator<ReadonlyArray<string>>
  lines: ReadonlyArray<string>
  index: number
  line: string
}

const batchSize = 1024

/** A batch at a time, since a promise for every line would take longer than the merging. */
export async function* mergeParts(parts: ReadonlyArray<Pick<Part, "lines">>): AsyncGenerator<ReadonlyArray<string>> {
  const heap: Array<Cursor> = []
  for (const part of parts) {
    const cursor: Cursor = { batches: part.lines(), lines: [], index: 0, line: "" }
    if (await advance(cursor)) {
      heap.push(cursor)
      rise(heap)
    }
  }
  let last: string | undefined
  let merged: Array<string> = []
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    if (top.line !== last) merged.push(top.line)
    last = top.line
    if (merged.length === batchSize) {
      yield merged
      merged = []
    }
    const moved = advance(top)
    if (moved === true || (await moved)) sink(heap)
    else removeTop(heap)
  }
  if (merged.length > 0) yield merged
}

const removeTop = (heap: Array<Cursor>): void => {
  const end = heap.pop()
  if (end === undefined || heap.length === 0) return
  heap[0] = end
  sink(heap)
}

/** Most steps stay within the buffer and need not wait; the others read on. */
const advance = (cursor: Cursor): true | Promise<boolean> => {
  const next = cursor.lines[cursor.index]
  if (next === undefined) return refill(cursor)
  cursor.index++
  cursor.line = next
  return true
}

const refill = async (cursor: Cursor): Promise<boolean> => {
  const batch = await cursor.batches.next()
  if (batch.done) return false
  cursor.lines = batch.value
  cursor.index = 0
  return advance(cursor)
}

const isBefore = (one: Cursor, other: Cursor): boolean => compareCodePoints(one.line, other.line) < 0

const rise = (heap: Array<Cursor>): void => {
  for (let child = heap.length - 1; child > 0; ) {
    const parent = (child - 1) >> 1
    if (!isBefore(heap[child]!, heap[parent]!)) return
    swap(heap, child, parent)
    child = parent
  }
}

const sink = (heap: Array<Cursor>): void => {
  for (let parent = 0; ; ) {
    const left = 2 * parent + 1
    if (left >= heap.length) return
    const right = left + 1
    const child = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left
    if (!isBefore(heap[child]!, heap[parent]!)) return
    swap(heap, child, parent)
    parent = child
  }
}

const swap = (heap: Array<Cursor>, one: number, other: number): void => {
  const held = heap[one]!
  heap[one] = heap[other]!
  heap[other] = held
}
