/** A process that extracts one document, as a test sees it. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { programOf } from "../../../store/test/support/programs.ts"

export interface ToCrashWorker {
  readonly root: string
  /** What its database, artifacts and log are called. */
  readonly name: string
  /** How long the extractor takes for a chunk. */
  readonly pauseMillis: number
}

type FromCrashWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Asked" }
  | { readonly _tag: "Done" }
  | { readonly _tag: "Failed"; readonly problem: string }

export class CrashProcess {
  readonly #child: ChildProcess
  readonly #ready: Promise<void>
  readonly #gone: Promise<unknown>
  #errors = ""
  #asked = 0
  #wake: () => void = () => undefined
  isDone = false

  /** Loads its modules and waits for what to extract. */
  constructor() {
    this.#child = fork(programOf(join(import.meta.dirname, "crashWorker.ts")), { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] })
    this.#gone = once(this.#child, "exit")
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#ready = new Promise((resolve) => {
      this.#child.on("message", (message) => {
        const heard = message as FromCrashWorker
        if (heard._tag === "Ready") resolve()
        if (heard._tag === "Asked") this.#asked++
        if (heard._tag === "Done") this.isDone = true
        if (heard._tag === "Failed") this.#errors += heard.problem
        this.#wake()
      })
    })
    this.#child.on("exit", () => this.#wake())
  }

  /** Extracts until so many calls were made, or all is done. */
  async extract(work: ToCrashWorker, calls: number): Promise<void> {
    await this.#ready
    this.#child.send(work)
    while (this.#asked < calls && !this.isDone) {
      if (this.#child.exitCode !== null) throw new Error(`a process ended by itself: ${this.#errors}`)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill("SIGKILL")
    await this.#gone
  }
}
