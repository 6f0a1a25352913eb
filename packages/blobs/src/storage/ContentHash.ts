/** The hash of a blob's content. */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"

/** The first 16 hex digits of a content's SHA-256. */
export const ContentHash = Schema.String.check(Schema.isPattern(/^[a-f0-9]{16}$/u)).pipe(Schema.brand("ContentHash"))
export type ContentHash = typeof ContentHash.Type

export const contentHashOf = (content: string | Uint8Array): ContentHash => {
  const hash = startHash()
  hash.update(content)
  return hash.end()
}

/** An incremental hash, for streams. */
export const startHash = () => {
  const hash = createHash("sha256")
  return {
    update: (piece: string | Uint8Array): void => {
      hash.update(piece)
    },
    end: (): ContentHash => ContentHash.make(hash.digest("hex").slice(0, 16)),
  }
}
