/** A worker process as a test sees it: commanded over IPC, killed with SIGKILL. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { programOf } from "../../store/test/support/programs.ts"
import type { DatabaseAddress } from "./Databases.ts"
import type { FromWorker, ToWorker } from "./worker.ts"

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #told = new Set<string>()
  readonly #waiting = new Map<string, () => void>()
  #errors = ""
  /** The keys that it reported as stored. */
  readonly stored = { journal: new Set<string>(), log: new Set<string>() }
  problem: string | undefined

  constructor() {
    this.#child = fork(programOf(join(import.meta.dirname, "worker.ts")), { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] })
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#child.on("message", (message) => this.#receive(message as FromWorker))
    this.#child.on("exit", () => {
      for (const wake of this.#waiting.values()) wake()
    })
  }

  async open(address: DatabaseAddress, name: string): Promise<this> {
    await this.hears("Ready")
    this.#say({ _tag: "Open", address, name })
    await this.hears("Opened")
    return this
  }

  /** Lets it begin to open, and kills it shortly after. */
  async openAndKill(address: DatabaseAddress, millis: number): Promise<void> {
    await this.hears("Ready")
    this.#say({ _tag: "Open", address, name: "victim" })
    await new Promise((resolve) => setTimeout(resolve, millis))
    await this.kill()
  }

  write() {
    this.#say({ _tag: "Write" })
  }

  async count(times: number): Promise<void> {
    this.#say({ _tag: "Count", times })
    await this.hears("Counted")
  }

  get isGone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async kill(): Promise<void> {
    if (this.isGone) return
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await gone
  }

  async stop(): Promise<void> {
    if (this.isGone) return
    const gone = once(this.#child, "exit")
    this.#say({ _tag: "Stop" })
    await gone
  }

  async hears(tag: FromWorker["_tag"]): Promise<void> {
    if (!this.#told.has(tag) && this.problem === undefined && !this.isGone)
      await new Promise<void>((resolve) => this.#waiting.set(tag, resolve))
    if (!this.#told.has(tag)) throw new Error(`a worker was not ${tag}: ${this.problem ?? this.#errors}`)
  }

  #say(message: ToWorker) {
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  #receive(message: FromWorker) {
    if (message._tag === "Stored") return void this.stored[message.where].add(message.key)
    this.#told.add(message._tag)
    if (message._tag === "Failed") {
      this.problem = message.problem
      for (const wake of this.#waiting.values()) wake()
    }
    this.#waiting.get(message._tag)?.()
  }
}
