/** What is kept of a document while it is read piece by piece: the hash of its bytes, its title, and the text not yet stored. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { titleOf, titleWithin } from "../document/DocumentReader.ts"
import type { ContentHash } from "../storage/Identity.ts"
import { startHash } from "../storage/Storage.ts"

export interface PassingDocument {
  readonly bytes: <E, R>(stream: Stream.Stream<Uint8Array, E, R>) => Stream.Stream<Uint8Array, E, R>
  readonly text: <E, R>(stream: Stream.Stream<string, E, R>) => Stream.Stream<string, E, R>
  /** Notes the language that the document declares. */
  readonly declare: (language: string) => Effect.Effect<void>
  readonly declared: () => string | undefined
  /** The text from where the last taking ended up to a place in the document. */
  readonly takeUntil: (end: number) => string
  /** Of a document that has been read to its end. */
  readonly version: () => { readonly inputHash: ContentHash; readonly title: string }
}

export const passingDocument = (address: string): PassingDocument => {
  const hash = startHash()
  let inputHash: ContentHash | undefined
  let language: string | undefined
  let [text, start, beginning] = ["", 0, ""]
  return {
    bytes: (stream) =>
      Stream.map(stream, (piece) => {
        hash.update(piece)
        return piece
      }),
    text: (stream) =>
      Stream.map(stream, (piece) => {
        text += piece
        if (beginning.length < titleWithin) beginning += piece.slice(0, titleWithin)
        return piece
      }),
    declare: (tag) =>
      Effect.sync(() => {
        language = tag
      }),
    declared: () => language,
    takeUntil: (end) => {
      const taken = text.slice(0, Math.max(0, end - start))
      text = text.slice(taken.length)
      start += taken.length
      return taken
    },
    version: () => {
      inputHash ??= hash.end()
      return { inputHash, title: titleOf(address, beginning) }
    },
  }
}
