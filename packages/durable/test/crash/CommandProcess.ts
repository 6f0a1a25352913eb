/** A process that executes commands, as a test sees it. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { programOf } from "../../../store/test/support/programs.ts"
import type { StoreAddress } from "./Protocol.ts"

export type ToCommandWorker =
  | {
      readonly _tag: "Open"
      readonly store: StoreAddress
      readonly node: string
      /** The file in which executions are logged. */
      readonly log: string
      readonly slowness: number
      readonly claimMillis: number
      /** The number of concurrent requesters. */
      readonly clients: number
    }
  /** Request nothing more. */
  | { readonly _tag: "Quiet" }
  | { readonly _tag: "Count" }
  | { readonly _tag: "Stop" }

export type FromCommandWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Opened" }
  | { readonly _tag: "Accepted"; readonly token: string }
  | { readonly _tag: "Enqueued"; readonly key: string }
  | { readonly _tag: "Lost"; readonly count: number }
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "Failed"; readonly problem: string }

type Opening = Omit<Extract<ToCommandWorker, { readonly _tag: "Open" }>, "_tag">

export class CommandProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<FromCommandWorker["_tag"], (message: FromCommandWorker) => void>()
  readonly #ready: Promise<unknown>
  readonly accepted: Array<string> = []
  readonly enqueued: Array<string> = []
  #errors = ""
  problem: string | undefined
  isAlive = true

  /** Starts the process; it loads its modules and waits for the message that says what to open. */
  constructor() {
    this.#child = fork(programOf(join(import.meta.dirname, "commandWorker.ts")), {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: [],
    })
    this.#child.stderr?.on("data", (data) => {
      this.#errors += String(data)
    })
    this.#ready = this.#hears("Ready")
    this.#child.on("message", (message) => this.#receive(message as FromCommandWorker))
    this.#child.on("exit", () => {
      this.isAlive = false
      for (const wake of this.#waiting.values()) wake({ _tag: "Failed", problem: `it ended: ${this.#errors}` })
    })
  }

  #receive(message: FromCommandWorker) {
    if (message._tag === "Accepted") this.accepted.push(message.token)
    if (message._tag === "Enqueued") this.enqueued.push(message.key)
    if (message._tag === "Failed") this.problem = message.problem
    const tag = message._tag === "Failed" ? "Opened" : message._tag
    this.#waiting.get(tag)?.(message)
  }

  #hears(tag: FromCommandWorker["_tag"]): Promise<FromCommandWorker> {
    return new Promise((resolve) => this.#waiting.set(tag, resolve))
  }

  #say(message: ToCommandWorker) {
    // A message to a dying process is lost; its exit is reported.
    if (this.#child.connected) this.#child.send(message, () => undefined)
  }

  async open(opening: Opening): Promise<this> {
    await this.#ready
    const opened = this.#hears("Opened")
    this.#say({ _tag: "Open", ...opening })
    const message = await opened
    if (message._tag !== "Opened") throw new Error(`a worker did not open: ${this.problem ?? this.#errors}`)
    return this
  }

  quiet() {
    this.#say({ _tag: "Quiet" })
  }

  /** How often a command was no longer its own. */
  async lost(): Promise<number> {
    const counted = this.#hears("Lost")
    this.#say({ _tag: "Count" })
    const message = await counted
    return message._tag === "Lost" ? message.count : -1
  }

  freeze() {
    this.#child.kill("SIGSTOP")
  }

  thaw() {
    this.#child.kill("SIGCONT")
  }

  async kill(): Promise<void> {
    if (!this.isAlive) return
    const gone = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await gone
  }

  /** Ends by a shutdown. */
  async stop(): Promise<void> {
    if (!this.isAlive) return
    const gone = once(this.#child, "exit")
    this.#say({ _tag: "Stop" })
    await gone
  }
}
