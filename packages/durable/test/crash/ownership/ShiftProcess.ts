/** A worker process as its controller sees it. */
import { type ChildProcess, type ForkOptions, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { until } from "../../../../store/test/support/patience.ts"
import { programOf } from "../../../../store/test/support/programs.ts"
import { monotonicMillis } from "./Shift.ts"
import { type FromShiftWorker, nodeIdOf, type ToShiftWorker, type WorkerConfig } from "./worker.ts"

/** In milliseconds of an idle machine. */
const longestStop = 60_000

export class ShiftProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<FromShiftWorker["_tag"], (message: FromShiftWorker) => void>()
  readonly #address: string | undefined
  #errors = ""
  isAlive = true
  isFrozen = false
  /** When it could work, by the monotonic clock; undefined before. */
  readyAt: number | undefined

  constructor(config: WorkerConfig, options: ForkOptions = {}) {
    this.#address = config.address
    this.#child = fork(programOf(join(import.meta.dirname, "worker.ts")), [JSON.stringify(config)], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: [],
      ...options,
    })
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#child.on("message", (message: FromShiftWorker) => {
      if (message._tag === "Ready") this.readyAt = monotonicMillis()
      if (message._tag === "Failed") {
        // Without what it was asked for it is of no use: its exit fails the waiting controller.
        this.#errors += message.problem
        this.#child.kill("SIGKILL")
      }
      this.#waiting.get(message._tag)?.(message)
      this.#waiting.delete(message._tag)
    })
    this.#child.on("exit", () => {
      this.isAlive = false
    })
  }

  get pid(): number {
    return this.#child.pid ?? -1
  }

  /** The owner that its instances have in the store, without the life. */
  get nodeId(): string {
    return nodeIdOf(this.pid, this.#address)
  }

  /** What it wrote to its standard error and what it failed with. */
  get errors(): string {
    return this.#errors
  }

  async ready(): Promise<this> {
    if (this.readyAt === undefined) await this.#answer("Ready")
    return this
  }

  async start(): Promise<void> {
    this.#say({ _tag: "Start" })
    await this.#answer("Started")
  }

  async counts(): Promise<Readonly<Record<string, number>>> {
    this.#say({ _tag: "Count" })
    const answer = await this.#answer("Counted")
    return answer._tag === "Counted" ? answer.counts : {}
  }

  freeze() {
    this.isFrozen = true
    this.#child.kill("SIGSTOP")
  }

  thaw() {
    this.isFrozen = false
    this.#child.kill("SIGCONT")
  }

  async kill(): Promise<void> {
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await gone
  }

  async stop(): Promise<void> {
    if (!this.isAlive) return
    this.#say({ _tag: "Stop" })
    await until(
      () => `worker ${this.pid} stops: ${this.#errors}`,
      () => !this.isAlive,
      longestStop,
    )
  }

  #say(message: ToShiftWorker) {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #answer(tag: FromShiftWorker["_tag"]): Promise<FromShiftWorker> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`worker ${this.pid} ended before it said ${tag}: ${this.#errors}`))
      if (!this.isAlive) return ended()
      this.#child.once("exit", ended)
      this.#waiting.set(tag, (message) => {
        this.#child.off("exit", ended)
        resolve(message)
      })
    })
  }
}
