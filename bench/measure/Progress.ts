/**
 * The progress of a long measurement, on standard error: in a terminal a bar that is redrawn, elsewhere a line for every tenth. Standard
 * output has the results only.
 */
export interface Progress {
  readonly advance: (by: number) => void
  /** Ends the line of the bar. */
  readonly end: () => void
}

const width = 30

export const startProgress = (title: string, total: number): Progress => {
  const isWatched = process.stderr.isTTY === true
  let done = 0
  let shown = -1
  const show = () => {
    const percent = Math.min(100, Math.floor((100 * done) / total))
    const step = isWatched ? percent : Math.floor(percent / 10) * 10
    if (step === shown) return
    shown = step
    const filled = Math.round((width * percent) / 100)
    const bar = `${"█".repeat(filled)}${"░".repeat(width - filled)}`
    process.stderr.write(isWatched ? `\r${bar} ${String(percent).padStart(3)} %  ${title}\u001b[K` : `${title}: ${step} %\n`)
  }
  show()
  return {
    advance: (by) => {
      done += by
      show()
    },
    end: () => {
      if (isWatched) process.stderr.write("\n")
    },
  }
}
