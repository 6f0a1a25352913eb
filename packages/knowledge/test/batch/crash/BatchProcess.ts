/** A process that runs a batch, as a test sees it. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { programOf } from "../../../../store/test/support/programs.ts"
import type { Told, Work } from "./Work.ts"

export class BatchProcess {
  readonly #child: ChildProcess
  readonly #ready: Promise<void>
  readonly #gone: Promise<unknown>
  readonly #waiting = new Set<() => void>()
  #isGone = false
  #errors = ""
  #problem: string | undefined
  /** The last state it told of. */
  state: { readonly _tag: string } | undefined

  /** Loads its modules, and waits for work. */
  constructor() {
    this.#child = fork(programOf(join(import.meta.dirname, "child.ts")), { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] })
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#gone = once(this.#child, "exit").then(() => {
      this.#isGone = true
      this.#wake()
    })
    this.#ready = new Promise((resolve) => {
      this.#child.on("message", (told: Told) => {
        if (told._tag === "Ready") return resolve()
        if (told._tag === "Problem") this.#problem = told.problem
        else this.state = told.state
        this.#wake()
      })
    })
  }

  async begin(work: Work): Promise<void> {
    await Promise.race([this.#ready, this.#gone])
    if (this.#isGone) throw new Error(`a process did not start: ${this.#errors}`)
    this.#child.send(work)
  }

  /** Waits until the batch is in a state, or the process has ended; whether it is the former. */
  async reaches(tags: ReadonlyArray<string>): Promise<boolean> {
    while (!tags.includes(this.state?._tag ?? "")) {
      if (this.#isGone) {
        if (this.#problem !== undefined || this.state === undefined) throw new Error(this.#problem ?? this.#errors)
        return false
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    return true
  }

  async ended(): Promise<void> {
    await this.#gone
    if (this.#problem !== undefined) throw new Error(this.#problem)
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
  }

  #wake() {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
