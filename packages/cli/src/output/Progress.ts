/**
 * Progress on stderr: in a terminal a bar that is redrawn, elsewhere a line every few seconds and at every new stage. With `--json`,
 * each change is a JSON line on stdout instead.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Output } from "./Output.ts"
import type { Style } from "./Style.ts"

export interface Step {
  readonly stage: string
  /** From 0 to 100. */
  readonly percent: number
  readonly text: string
}

/** The width of the bar. A narrow terminal gets a shorter bar, so that the text fits. */
const widthOf = (columns: number): number => Math.max(8, Math.min(30, columns - 62))
const lineEveryMillis = 5000

/** Shows the progress of a stream until its end. Returns its last element; undefined for an empty stream. */
export const followed = <A, E, R>(
  stream: Stream.Stream<A, E, R>,
  options: { readonly step: (value: A) => Step; readonly json: (value: A) => unknown },
): Effect.Effect<A | undefined, E, R | Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    let last: A | undefined
    let shown = { stage: "", at: 0 }
    const draw = (step: Step) => output.redraw(barText(step, output.noteStyle, process.stderr.columns || 80))
    const line = (step: Step) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        if (shown.stage === step.stage && at - shown.at < lineEveryMillis) return
        shown = { stage: step.stage, at }
        yield* output.note(`${step.stage}, ${step.percent}%: ${step.text}`)
      })
    const show = (value: A) => {
      last = value
      if (output.isJson) return output.write(`${JSON.stringify(options.json(value))}\n`)
      return output.isWatched ? draw(options.step(value)) : line(options.step(value))
    }
    const finish = Effect.suspend(() => (output.isWatched && !output.isJson && last !== undefined ? output.note("") : Effect.void))
    yield* Effect.ensuring(Stream.runForEach(stream, show), finish)
    return last
  })

const barText = ({ stage, percent, text }: Step, style: Style, columns: number): string => {
  const width = widthOf(columns)
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width)
  const bar = `${style.green("█".repeat(filled))}${style.dim("░".repeat(width - filled))}`
  const words = `${stage.padEnd(12)} ${String(percent).padStart(3)}%  ${text}`
  return `${bar} ${words.slice(0, Math.max(0, columns - width - 2))}`
}
