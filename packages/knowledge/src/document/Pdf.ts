/** The text of a PDF, page by page. */
import * as Effect from "effect/Effect"
import { describe } from "../storage/Describe.ts"
import { DocumentEncrypted, DocumentMalformed } from "./ReadError.ts"
import { type Reading, TextBuilder } from "./Reading.ts"

export const readPdf = (source: string, bytes: Uint8Array): Effect.Effect<Reading, DocumentEncrypted | DocumentMalformed> =>
  Effect.tryPromise({
    try: async () => {
      const { extractText, getDocumentProxy } = await import("unpdf")
      // The library keeps what it is given, and takes no Node buffers: so it is given a copy.
      const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
      try {
        return await extractText(document, { mergePages: false })
      } finally {
        await document.loadingTask.destroy()
      }
    },
    catch: (error) =>
      error instanceof Error && error.name === "PasswordException"
        ? new DocumentEncrypted({ source })
        : new DocumentMalformed({ source, format: "pdf", problem: describe(error) }),
  }).pipe(
    Effect.map(({ text }) => {
      const builder = new TextBuilder()
      for (const [index, page] of text.entries()) {
        builder.add(page.toWellFormed().trim(), { _tag: "Page", page: index + 1 })
        builder.breakLine(2)
      }
      return builder.build(undefined)
    }),
  )
