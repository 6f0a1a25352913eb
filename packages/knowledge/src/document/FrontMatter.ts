/** Reads front matter as YAML, with the place of each scalar. */
import * as Effect from "effect/Effect"
import type { Json } from "./Json.ts"
import type { FrontMatterReader } from "./Markdown.ts"

/** Loads the reader of YAML on first use. */
export const loadFrontMatter: Effect.Effect<FrontMatterReader> = Effect.map(
  Effect.promise(() => import("yaml")),
  ({ parseDocument, isMap, isScalar }) =>
    (text) => {
      // The core schema: a date stays the text that it is.
      const document = parseDocument(text, { schema: "core", strict: true, uniqueKeys: true, logLevel: "silent" })
      if (document.errors.length > 0 || !isMap(document.contents)) return undefined
      const value = document.toJS({ maxAliasCount: 100 }) as Json
      return {
        value,
        rangeOf: (path) => {
          const node = document.getIn(path, true)
          if (!isScalar(node) || node.range === undefined || node.range === null) return undefined
          const [start, end] = node.range
          return { start, end }
        },
      }
    },
)
