/**
 * Reads the content of items. For a definition with a module, worker processes read the items, each within a limit of time and
 * memory: a worker that exceeds the limit is killed and replaced, and the item is read once more. An item that exceeds the limit twice
 * is set aside with the reason: it is not read again until it is corrected or the limit is raised, also after a restart.
 *
 * This process reads items of a definition without a module.
 */
import { limitText, makeProcessPool, moduleBeside, type ProcessPool, type TaskLimit } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { ItemKind } from "../kind/ItemKind.ts"
import { type ReadContent, readContent, readStrictly } from "../kind/ReadContent.ts"
import { fingerprintOf, type ReadItemsInput, type ReadItemsOutput } from "./ReadingTask.ts"

/** The content of one item. */
export interface ItemText {
  readonly index: number
  readonly text: string
}

/** Records of items that have exceeded the limit. */
export interface LimitNotes<E> {
  /** How often an item has exceeded this limit, and why. */
  readonly find: (index: number, limit: string) => LimitNote | undefined
  /** Records that an item has exceeded the limit once more. Returns the total number. */
  readonly add: (index: number, limit: string, problem: string) => Effect.Effect<number, E>
}

export interface LimitNote {
  readonly attempts: number
  readonly problem: string
}

export interface ItemReader {
  /** The result of reading each item. */
  readonly read: <E>(
    kind: ItemKind,
    items: ReadonlyArray<ItemText>,
    notes: Effect.Effect<LimitNotes<E>, E>,
  ) => Effect.Effect<ReadonlyArray<ReadContent>, E>
  /** Reads corrected items, and also refuses unknown keys, which are mistakes of the user. */
  readonly readStrictly: (kind: ItemKind, texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ReadContent>>
}

export const defaultItemLimit: TaskLimit = { time: "10 seconds", memory: 512 }

/** An item that has exceeded a limit this often is set aside. */
const mostAttempts = 2

/** The time limit of loading the module of a definition. */
const loadTime = "1 minute"

/** More workers would not be faster: this process, which stores the results, is the bottleneck. */
const workers = 2

export const makeItemReader = (limit: TaskLimit): Effect.Effect<ItemReader, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pool = yield* makeProcessPool({
      entry: moduleBeside(import.meta.url, "WorkerEntry"),
      limit: { start: loadTime, ...limit },
      size: workers,
      // The modules of a definition alone may use half of the memory limit.
      keptBelow: 0.75 * limit.memory,
    })
    const reader = new PooledReader(pool, limit)
    // Runs before the pool closes: the end of its workers must not count as a failure of an item.
    yield* Effect.addFinalizer(() => Effect.sync(() => reader.close()))
    return {
      read: (kind, items, notes) => {
        if (!reader.canRead(kind)) return Effect.sync(() => items.map(({ text }) => readContent(text, kind)))
        return Effect.flatMap(notes, (found) => reader.read(kind, items, found, false))
      },
      readStrictly: (kind, texts) => {
        if (!reader.canRead(kind)) return Effect.sync(() => texts.map((text) => readStrictly(text, kind)))
        const items = texts.map((text, index) => ({ index, text }))
        return reader.read(kind, items, memoryNotes(), true)
      },
    }
  })

/** Limit notes in memory, for items that have no rows in the table. */
export const memoryNotes = (): LimitNotes<never> => {
  const notes = new Map<number, LimitNote>()
  return {
    find: (index) => notes.get(index),
    add: (index, _limit, problem) =>
      Effect.sync(() => {
        const attempts = (notes.get(index)?.attempts ?? 0) + 1
        notes.set(index, { attempts, problem })
        return attempts
      }),
  }
}

class PooledReader {
  readonly #pool: ProcessPool
  /** Both limits as text. */
  readonly #limit: string
  /** Definitions that no worker could load. */
  readonly #unavailable = new Set<string>()
  #isClosed = false

  constructor(pool: ProcessPool, limit: TaskLimit) {
    this.#pool = pool
    this.#limit = `${limitText(limit, "time")}, ${limitText(limit, "memory")}`
  }

  close() {
    this.#isClosed = true
  }

  canRead({ name, module }: ItemKind): boolean {
    return module !== undefined && !this.#unavailable.has(name)
  }

  read<E>(
    kind: ItemKind,
    items: ReadonlyArray<ItemText>,
    notes: LimitNotes<E>,
    strict: boolean,
  ): Effect.Effect<ReadonlyArray<ReadContent>, E> {
    return Effect.gen({ self: this }, function* () {
      const read: Array<ReadContent> = []
      let singly = false
      while (read.length < items.length) {
        const next = items[read.length] as ItemText
        const note = notes.find(next.index, this.#limit)
        if (note !== undefined && note.attempts >= mostAttempts) {
          read.push(setAside(note))
          continue
        }
        // Reads up to the next item that is set aside.
        const rest = items.slice(read.length)
        const end = rest.findIndex(({ index }) => (notes.find(index, this.#limit)?.attempts ?? 0) >= mostAttempts)
        const some = end === -1 ? rest : rest.slice(0, end)
        const outcome = yield* this.#run(kind, some, strict, singly || some.length === 1, read)
        if (outcome === undefined) {
          singly = false
          continue
        }
        if (outcome._tag === "Unavailable") {
          this.#unavailable.add(kind.name)
          yield* Effect.logWarning(
            `items of ${kind.name} are read by this process, without a limit: no worker could load ${kind.module}: ${outcome.problem}`,
          )
          const readHere = strict ? readStrictly : readContent
          return [...read, ...items.slice(read.length).map(({ text }) => readHere(text, kind))]
        }
        // Reads again with one answer per item, to find the item that exceeded the limit.
        if (!singly && some.length > 1) {
          singly = true
          continue
        }
        const culprit = items[read.length] as ItemText
        const attempts = yield* notes.add(culprit.index, this.#limit, outcome.problem)
        if (attempts < mostAttempts) continue
        read.push(setAside({ attempts, problem: outcome.problem }))
        singly = false
      }
      return read
    })
  }

  /** Adds results to `read`. Returns undefined if all items were read. */
  #run(
    kind: ItemKind,
    items: ReadonlyArray<ItemText>,
    strict: boolean,
    singly: boolean,
    read: Array<ReadContent>,
  ): Effect.Effect<Ended | undefined> {
    let isLoaded = false
    const take = (outputs: ReadonlyArray<ReadItemsOutput>) => {
      for (const output of outputs) {
        if (output._tag === "Loaded") isLoaded = true
        else read.push(output.read)
      }
    }
    const input: ReadItemsInput = {
      definition: {
        module: kind.module ?? "",
        name: kind.name,
        fingerprint: fingerprintOf(kind),
        isTable: kind.isTable,
        fileMapping: kind.fileMapping,
      },
      texts: items.map(({ text }) => text),
      strict,
      singly,
    }
    // The outputs are those of `readItems`, which the workers run.
    const outputs = this.#pool.stream("items.read", input, { done: (last) => take(last as ReadonlyArray<ReadItemsOutput>) })
    const reading = Stream.runForEach(outputs, (output) => Effect.sync(() => take([output as ReadItemsOutput])))
    return Effect.flatMap(Effect.result(reading), (result) => {
      if (Result.isSuccess(result)) return Effect.succeed(undefined)
      const { failure } = result
      return this.#ended(isLoaded && failure._tag !== "TaskFailed" ? "Exceeded" : "Unavailable", failure.problem)
    })
  }

  /** Never returns once the reader is closed: the process is about to end, and the engine interrupts this work. */
  #ended(_tag: Ended["_tag"], problem: string): Effect.Effect<Ended> {
    return this.#isClosed ? Effect.never : Effect.succeed({ _tag, problem })
  }
}

/** Why a run on a worker ended before all items were read. */
interface Ended {
  /** An item exceeded the limit, or the worker could not load the definition. */
  readonly _tag: "Exceeded" | "Unavailable"
  readonly problem: string
}

const setAside = ({ attempts, problem }: LimitNote): ReadContent => {
  const message = `${problem}, in ${attempts} attempts; correct it, or raise the limit of items`
  const found: ItemProblem = { reason: "limit_exceeded", message: message.slice(0, 500) }
  return { _tag: "Bad", problem: found }
}
