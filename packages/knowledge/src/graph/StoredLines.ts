/** Lines of stored files: written and read as streams, verified against the file's hash, and merged in sorted order. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { mergeParts, type Part, type SortFailed, sortLines } from "../rdf/LineSort.ts"
import { lineParts } from "../rdf/NTriples.ts"
import { rdf, rdfs } from "../rdf/Vocabulary.ts"
import { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import type { ContentHash } from "../storage/Identity.ts"
import { Storage, type StorageError, type StorageService, startHash } from "../storage/Storage.ts"
import type { StorageUri } from "../storage/Uri.ts"

export interface StoredLines {
  readonly uri: StorageUri
  readonly hash: ContentHash
}

/** The lines of one file, without line breaks. Fails after the last line if the file does not match its hash. */
export const storedLines = (
  storage: StorageService,
  { uri, hash: expected }: StoredLines,
): Stream.Stream<string, StorageError | ArtifactDamaged> =>
  Stream.suspend(() => {
    const hash = startHash()
    const decoder = new TextDecoder()
    let rest = ""
    const body = Stream.mapArray(storage.getStream(uri), (pieces) => {
      const lines: Array<string> = []
      for (const piece of pieces) {
        hash.update(piece)
        const parts = (rest + decoder.decode(piece, { stream: true })).split("\n")
        rest = parts.pop() ?? ""
        for (const line of parts) lines.push(line)
      }
      return [lines]
    }).pipe(Stream.flattenIterable)
    const end = Stream.unwrap(
      Effect.suspend(() => {
        const actual = hash.end()
        if (actual !== expected) return Effect.fail(new ArtifactDamaged({ path: uri, expected, actual }))
        return Effect.succeed(rest === "" ? Stream.empty : Stream.succeed(rest))
      }),
    )
    return Stream.concat(body, end)
  })

/** Writes sorted lines to a file. */
export const writeLines = <E, R>(
  uri: StorageUri,
  lines: Stream.Stream<string, E, R>,
): Effect.Effect<StoredLines & { readonly triples: number }, E | StorageError, R | Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    let triples = 0
    const encoder = new TextEncoder()
    const bytes = Stream.mapArray(lines, (batch) => {
      triples += batch.length
      return [encoder.encode(`${batch.join("\n")}\n`)]
    })
    const { hash } = yield* storage.setStream(uri, bytes)
    return { uri, hash, triples }
  })

/** The lines of sorted files in one sorted sequence, each line once. */
export const mergedLines = (
  storage: StorageService,
  files: ReadonlyArray<StoredLines>,
): Stream.Stream<string, StorageError | ArtifactDamaged> => mergedStreams(files.map((file) => storedLines(storage, file)))

/** Merging buffers a chunk of each stream. More streams than this are sorted again instead, in bounded memory. */
const mergedAtOnce = 32

/** Merges any number of sorted streams into one; each line occurs once. */
export const mergedParts = <E>(streams: ReadonlyArray<Stream.Stream<string, E>>): Stream.Stream<string, E | SortFailed> =>
  streams.length <= mergedAtOnce ? mergedStreams(streams) : sortLines(Stream.flatten(Stream.fromIterable(streams)))

/** Merges a few sorted streams into one; each line occurs once. */
export const mergedStreams = <E>(streams: ReadonlyArray<Stream.Stream<string, E>>): Stream.Stream<string, E> => {
  const [first, ...others] = streams
  if (first === undefined) return Stream.empty
  if (others.length === 0) return first
  return Stream.suspend(() =>
    // An async iteration throws the failure of its stream. An iterator can be consumed once, so each run creates a new one.
    Stream.flattenIterable(Stream.fromAsyncIterable(mergeParts(streams.map(partOf)), (thrown) => thrown as E)),
  )
}

/** The sorted lines of `lines` that `others` lacks. */
export const linesOnlyIn = <E, F>(lines: Stream.Stream<string, E>, others: Stream.Stream<string, F>): Stream.Stream<string, E | F> =>
  Stream.suspend(() => {
    // The line break sorts before any character of a longer line, so the marks keep the order. Of equal lines, the other comes first.
    const marked = mergedStreams<E | F>([Stream.map(others, (line) => `${line}\n0`), Stream.map(lines, (line) => `${line}\n1`)])
    let other = ""
    return Stream.flattenIterable(
      Stream.map(marked, (line) => {
        const plain = line.slice(0, -2)
        if (line.endsWith("1")) return plain === other ? [] : [plain]
        other = plain
        return []
      }),
    )
  })

const partOf = <E>(lines: Stream.Stream<string, E>): Pick<Part, "lines"> => ({
  lines: async function* () {
    yield* Stream.toAsyncIterable(Stream.chunks(lines))
  },
})

// Sorted lines of N-Triples, grouped by subject.

export const labelPredicate = `<${rdfs.label}>`
export const statementType = `<${rdf.statement}>`

/** All lines about one subject: objects by predicate, as N-Triples terms. */
export interface NodeOfLines {
  readonly subject: string
  readonly values: ReadonlyMap<string, ReadonlyArray<string>>
}

/** The line of the fact that a statement states; undefined for a node that is not a statement. */
export const statedLine = ({ values }: NodeOfLines): string | undefined => {
  const [subject] = values.get(`<${rdf.subject}>`) ?? []
  const [predicate] = values.get(`<${rdf.predicate}>`) ?? []
  const [object] = values.get(`<${rdf.object}>`) ?? []
  return subject === undefined || predicate === undefined || object === undefined ? undefined : [subject, predicate, object, "."].join(" ")
}

/** Groups sorted lines by subject. Lines of one subject are adjacent, so only one node is in memory at a time. */
export const nodesOfLines = <E, R>(lines: Stream.Stream<string, E, R>): Stream.Stream<NodeOfLines, E, R> =>
  Stream.suspend(() => {
    let subject = ""
    let values = new Map<string, Array<string>>()
    const body = Stream.flattenIterable(
      Stream.mapArray(lines, (batch) => {
        const done: Array<NodeOfLines> = []
        for (const line of batch) {
          const parts = lineParts(line)
          if (parts.subject !== subject) {
            if (subject !== "") done.push({ subject, values })
            subject = parts.subject
            values = new Map()
          }
          const objects = values.get(parts.predicate)
          if (objects === undefined) values.set(parts.predicate, [parts.object])
          else objects.push(parts.object)
        }
        return [done]
      }),
    )
    const last = Stream.suspend(() => (subject === "" ? Stream.empty : Stream.succeed({ subject, values })))
    return Stream.concat(body, last)
  })
