import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { FileStorage, MemoryStorage } from "@detent/blobs"
import { blobIn, Storage, StorageFolder, type StorageService } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as CanonicalGraph from "../../src/graph/CanonicalGraph.ts"
import { BatchId, Namespace } from "../../src/storage/Identity.ts"

const namespace = Namespace.make("harbours")
const memory = StorageFolder.make("mem://graphs/")
const batch = (number: number) => BatchId.make(`batch-${number.toString(16).padStart(12, "0")}`)
const line = (name: string) => `<urn:${name}> <urn:is> "there" .`

/** Stores the lines as a batch would, and says what it contributes. */
const contribution = (storage: StorageService, folder: StorageFolder, number: number, names: ReadonlyArray<string>) =>
  Effect.map(
    storage.set(
      blobIn(folder, `batches/${batch(number)}.nt`),
      [...names]
        .sort()
        .map((name) => `${line(name)}\n`)
        .join(""),
    ),
    ({ uri, hash }) => ({ batchId: batch(number), uri, hash, triples: names.length }),
  )

const opened = Effect.gen(function* () {
  const storage = yield* MemoryStorage.make
  const graph = yield* Effect.provideService(CanonicalGraph.make(memory), Storage, storage)
  return {
    storage,
    graph,
    add: (number: number, ...names: ReadonlyArray<string>) =>
      Effect.flatMap(contribution(storage, memory, number, names), (one) => graph.contribute(namespace, one)),
  }
})

const linesOf = (graph: CanonicalGraph.CanonicalGraphService) =>
  Effect.flatMap(graph.current(namespace), (version) =>
    Option.isNone(version) ? Effect.succeed([]) : Stream.runCollect(graph.lines(version.value)),
  )

describe("the canonical graph", () => {
  it.effect("merges what batches contribute, each triple once", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      expect(Option.isNone(yield* graph.current(namespace))).toBe(true)
      yield* add(1, "a", "c")
      yield* add(2, "b", "c", "d")
      expect(yield* linesOf(graph)).toEqual(["a", "b", "c", "d"].map(line))
    }),
  )

  it.effect("counts a triple once that two batches state, whether the number is recorded or not", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      const first = yield* add(1, "a", "c")
      const second = yield* add(2, "b", "c", "d")
      expect(yield* graph.countTriples(first)).toBe(2)
      expect(yield* graph.countTriples(second)).toBe(4)
      yield* graph.recordTriples(second, 4)
      expect(yield* graph.countTriples(second)).toBe(4)
    }),
  )

  it.effect("names every file of every version, also of what is withdrawn since", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      const versions = [yield* add(1, "a"), yield* add(2, "b")]
      yield* graph.withdraw(namespace, batch(1))
      expect(yield* graph.files(Namespace.make("lakes"))).toEqual(new Set())
      expect(yield* graph.files(namespace)).toEqual(
        new Set(versions.flatMap(({ contributions }) => contributions.flatMap(({ uri, documents }) => [uri, documents?.uri ?? uri]))),
      )
    }),
  )

  it.effect("can be read more than once", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      yield* add(1, "a", "c")
      const lines = graph.lines(yield* add(2, "b"))
      expect(yield* Stream.runCollect(lines)).toEqual(yield* Stream.runCollect(lines))
      expect(yield* Stream.runCount(lines)).toBe(3)
    }),
  )

  it.effect("is not changed by the same contribution again", () =>
    Effect.gen(function* () {
      const { add } = yield* opened
      const once = yield* add(1, "a")
      expect(yield* add(1, "a")).toEqual(once)
    }),
  )

  it.effect("loses only a withdrawn batch's own triples, whatever came later", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      yield* add(1, "a", "shared")
      yield* add(2, "b", "shared")
      const withdrawn = yield* graph.withdraw(namespace, batch(1))
      expect(Option.isSome(withdrawn)).toBe(true)
      expect(yield* linesOf(graph)).toEqual(["b", "shared"].map(line))
      expect(Option.isNone(yield* graph.withdraw(namespace, batch(1)))).toBe(true)
    }),
  )

  it.effect("that has no version yet is at the same version as one whose batches are all withdrawn", () =>
    Effect.gen(function* () {
      const { storage, graph, add } = yield* opened
      const { version: against } = yield* add(1, "a")
      const emptied = Option.getOrThrow(yield* graph.withdraw(namespace, batch(1)))
      const other = yield* contribution(storage, memory, 2, ["b"])
      const moved = yield* Effect.flip(graph.contributeAt(Namespace.make("new"), other, Option.some(against)))
      expect(moved).toMatchObject({ _tag: "GraphMoved", version: emptied.version })
    }),
  )

  it.effect("still reads an earlier version", () =>
    Effect.gen(function* () {
      const { graph, add } = yield* opened
      const first = yield* add(1, "a")
      yield* add(2, "b")
      const earlier = yield* graph.version(namespace, first.version)
      expect(yield* Stream.runCollect(graph.lines(earlier))).toEqual([line("a")])
    }),
  )

  it.effect("tells of a contribution that was changed since", () =>
    Effect.gen(function* () {
      const { storage, graph, add } = yield* opened
      yield* add(1, "a")
      yield* add(2, "b")
      yield* storage.set(blobIn(memory, `batches/${batch(1)}.nt`), `${line("z")}\n`)
      expect((yield* Effect.flip(linesOf(graph)))._tag).toBe("ArtifactDamaged")
    }),
  )

  it.effect("refuses a pointer that is none", () =>
    Effect.gen(function* () {
      const { storage, graph, add } = yield* opened
      yield* storage.set(blobIn(memory, "canonical/harbours/current.json"), "{}")
      expect((yield* Effect.flip(graph.current(namespace)))._tag).toBe("GraphVersionDamaged")
      expect((yield* Effect.flip(add(1, "a")))._tag).toBe("GraphVersionDamaged")
    }),
  )

  it.live("keeps every one of twenty batches that contribute at once through two stores on one folder", () =>
    Effect.gen(function* () {
      const root = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "detent-graph-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true })),
      )
      const folder = StorageFolder.make(`${pathToFileURL(root)}/`)
      const graphs = yield* Effect.all(
        [1, 2].map(() =>
          Effect.gen(function* () {
            const storage = yield* FileStorage.make({ root })
            return { storage, graph: yield* Effect.provideService(CanonicalGraph.make(folder), Storage, storage) }
          }),
        ),
      )
      const names = Array.from({ length: 20 }, (_, number) => `n${String(number).padStart(2, "0")}`)
      yield* Effect.forEach(
        names,
        (name, number) =>
          Effect.gen(function* () {
            const { storage, graph } = graphs[number % 2] ?? (yield* Effect.die("two stores"))
            yield* graph.contribute(namespace, yield* contribution(storage, folder, number, [name]))
          }),
        { concurrency: "unbounded" },
      )
      const [first] = graphs
      expect(first && (yield* linesOf(first.graph))).toEqual(names.map(line))
      yield* Effect.promise(() => writeFile(fileURLToPath(blobIn(folder, `batches/${batch(0)}.nt`)), "torn"))
      expect(first && (yield* Effect.flip(linesOf(first.graph)))._tag).toBe("ArtifactDamaged")
    }),
  )
})
