/** A node in a child process: its reports, and the signals that stop or kill it. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface NodeSettings {
  readonly url: string
  readonly address: string
  readonly token: string
  /** After this many milliseconds without a heartbeat, the other nodes take over its shards. */
  readonly lease: number
}

/** The report that a node sends every tenth of a second. */
export interface Report {
  readonly shards: number
  /** Readings that were answered since its last report. */
  readonly answered: ReadonlyArray<string>
  /** Readings that got an error since its start. */
  readonly failed: number
}

export class NodeProcess {
  readonly address: string
  readonly #child: ChildProcess
  readonly #gone: Promise<unknown>
  #shards = 0
  #failed = 0

  /** Adds readings that were answered to `answered`. */
  constructor(settings: NodeSettings, answered: Array<string>) {
    this.address = settings.address
    this.#child = fork(join(import.meta.dirname, "process.ts"), [JSON.stringify(settings)], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    this.#gone = once(this.#child, "exit")
    this.#child.on("message", (report: Report) => {
      this.#shards = report.shards
      this.#failed = report.failed
      answered.push(...report.answered)
    })
  }

  get shards(): number {
    return this.isUp ? this.#shards : 0
  }

  get failed(): number {
    return this.#failed
  }

  get isUp(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get wasKilled(): boolean {
    return this.#child.signalCode === "SIGKILL"
  }

  /** Tells the node to send events, or to stop sending. */
  send(isSending: boolean) {
    if (this.isUp) this.#child.send({ isSending })
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
  }

  /** Tells the node to hand over its shards and end, and waits for its end. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM")
    await this.#gone
  }
}
