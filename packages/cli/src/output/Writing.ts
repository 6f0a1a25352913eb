/** Writes the file that an option such as `--output FILE` names. */
import { createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export class FileNotWritten extends Schema.TaggedError<FileNotWritten>()("FileNotWritten", {
  file: Schema.String,
  problem: Schema.String,
  /** The option that names the file. */
  option: Schema.String,
}) {
  override get message() {
    return `${this.file} cannot be written: ${this.problem}; choose another with --${this.option}`
  }
}

/** Writes a stream to the file that `option` names, with backpressure. */
export const writePieces = <E, R>(
  file: string,
  pieces: Stream.Stream<string | Uint8Array, E, R>,
  option = "output",
): Effect.Effect<void, E | FileNotWritten, R> =>
  Effect.gen(function* () {
    const services = yield* Effect.context<R>()
    // Keeps the error of the stream itself, which the pipeline would replace.
    let failure: { readonly error: E } | undefined
    const noted = Stream.tapError(pieces, (error) =>
      Effect.sync(() => {
        failure = { error }
      }),
    )
    yield* Effect.tryPromise({
      try: (signal) =>
        pipeline(Readable.from(Stream.toAsyncIterableWith(noted, services), { objectMode: false }), createWriteStream(file), { signal }),
      catch: (cause) =>
        failure?.error ?? new FileNotWritten({ file, problem: cause instanceof Error ? cause.message : String(cause), option }),
    })
  })

export const writeText = (file: string, text: string): Effect.Effect<void, FileNotWritten> => writePieces(file, Stream.succeed(text))
