/** A worker as the test sees it: a process that can be given work and killed. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { programOf } from "../../../store/test/support/programs.ts"
import type { ItemCounts } from "../../src/index.ts"
import type { Address } from "../support/Databases.ts"

export interface Work {
  readonly address: Address
  readonly batchId: string
  /** Under the name of a worker that was killed, it takes over that one's work at once, without waiting for the end of its lease. */
  readonly nodeId?: string
  readonly ask: { readonly _tag: "Upload"; readonly path: string } | { readonly _tag: "Retry" } | { readonly _tag: "Resume" }
  /** Default: posts. */
  readonly kind?: string
  /** Where it kills itself. */
  readonly dies?: Death
}

/** When so many items have been checked, each time the file is read, or when a listener gets the outcome. */
export type Death = { readonly _tag: "Checking"; readonly items: number } | { readonly _tag: "Telling" }

export interface Finished {
  readonly _tag: "Finished"
  readonly state: string
  readonly items: ItemCounts
  readonly problem: string | undefined
}

export type Told = { readonly _tag: "Ready" } | { readonly _tag: "Open" } | Finished | { readonly _tag: "Broken"; readonly problem: string }

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #ready: Promise<unknown>
  readonly #gone: Promise<unknown>
  readonly finished: Promise<Finished | undefined>

  constructor() {
    const child = fork(programOf(join(import.meta.dirname, "worker.ts")), { stdio: ["ignore", "ignore", "inherit", "ipc"] })
    this.#child = child
    this.#ready = once(child, "message")
    this.#gone = once(child, "exit")
    this.finished = new Promise((resolve, reject) => {
      child.on("message", (told: Told) => {
        if (told._tag === "Finished") resolve(told)
        if (told._tag === "Broken") reject(new Error(told.problem))
      })
      child.on("exit", () => resolve(undefined))
    })
    this.finished.catch(() => undefined)
  }

  /** Gives it its work; returns when its store is open. */
  async begin(work: Work): Promise<void> {
    await this.#orGone(this.#ready)
    const open = once(this.#child, "message")
    this.#child.send(work)
    await this.#orGone(open)
  }

  async #orGone(awaited: Promise<unknown>): Promise<void> {
    const gone = this.#gone.then(() => {
      throw new Error("the worker has ended by itself")
    })
    await Promise.race([awaited, gone])
  }

  /** As a power failure would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
  }
}
