/** Blobs in memory, under `mem://` addresses, for tests and experiments. */

import { compareText } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { contentHashOf } from "./ContentHash.ts"
import {
  AddressRefused,
  type BlobInfo,
  BlobNotFound,
  Generation,
  type Precondition,
  PreconditionFailed,
  Storage,
  type StorageError,
  type StorageFolder,
  type StorageService,
  type StorageUri,
  schemeOf,
  type Written,
} from "./Storage.ts"

interface Kept {
  readonly bytes: Uint8Array
  readonly generation: Generation
}

export const make: Effect.Effect<StorageService> = Effect.sync(() => {
  const blobs = new Map<string, Kept>()
  let writings = 0

  const served = (uri: StorageUri | StorageFolder): Effect.Effect<void, AddressRefused> =>
    schemeOf(uri) === "mem"
      ? Effect.void
      : Effect.fail(new AddressRefused({ uri, problem: "is not an address in memory", nextStep: "use one that begins with mem://" }))

  const infoOf = (uri: StorageUri, { bytes, generation }: Kept): BlobInfo => ({ uri, generation, size: bytes.length })

  const find = (uri: StorageUri): Effect.Effect<Kept, StorageError> =>
    Effect.suspend(() => {
      const blob = blobs.get(uri)
      return blob === undefined ? Effect.fail(new BlobNotFound({ uri })) : Effect.succeed(blob)
    })

  const met = (uri: StorageUri, precondition: Precondition | undefined): Effect.Effect<void, PreconditionFailed> =>
    Effect.suspend(() => {
      const actual = blobs.get(uri)?.generation
      const expected = precondition?._tag === "AtGeneration" ? precondition.generation : undefined
      return precondition === undefined || actual === expected
        ? Effect.void
        : Effect.fail(new PreconditionFailed({ uri, expected, actual }))
    })

  const write = (uri: StorageUri, bytes: Uint8Array, precondition: Precondition | undefined): Effect.Effect<Written, StorageError> =>
    met(uri, precondition).pipe(
      Effect.map(() => {
        const blob = { bytes, generation: Generation.make(String(++writings)) }
        blobs.set(uri, blob)
        return { ...infoOf(uri, blob), hash: contentHashOf(bytes) }
      }),
    )

  const bytesAt = (uri: StorageUri) => served(uri).pipe(Effect.andThen(find(uri)))

  return {
    get: (uri) =>
      Effect.map(bytesAt(uri), (blob) => ({ ...infoOf(uri, blob), bytes: blob.bytes.slice(), hash: contentHashOf(blob.bytes) })),
    getStream: (uri) => Stream.fromEffect(Effect.map(bytesAt(uri), ({ bytes }) => bytes.slice())),
    info: (uri) => Effect.map(served(uri), () => Option.map(Option.fromUndefinedOr(blobs.get(uri)), (blob) => infoOf(uri, blob))),
    set: (uri, content, precondition) =>
      served(uri).pipe(
        Effect.andThen(write(uri, typeof content === "string" ? new TextEncoder().encode(content) : content.slice(), precondition)),
      ),
    setStream: (uri, content, precondition) =>
      served(uri).pipe(
        Effect.andThen(Stream.mkUint8Array(content)),
        Effect.flatMap((bytes) => write(uri, bytes, precondition)),
      ),
    list: (folder) =>
      Stream.unwrap(
        Effect.map(served(folder), () => {
          const uris = [...blobs.keys()].filter((uri) => uri.startsWith(folder)).sort(compareText)
          return Stream.fromIterable(uris).pipe(
            Stream.flatMap((uri) => {
              const blob = blobs.get(uri)
              return blob === undefined ? Stream.empty : Stream.succeed(infoOf(uri as StorageUri, blob))
            }),
          )
        }),
      ),
    remove: (uri, precondition) =>
      served(uri).pipe(
        Effect.andThen(met(uri, precondition)),
        Effect.map(() => blobs.delete(uri)),
      ),
  }
})

export const layer: Layer.Layer<Storage> = Layer.effect(Storage, make)
