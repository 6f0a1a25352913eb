/** A node as the process that started it sees it: what it reports, and how it is killed. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface NodeSettings {
  readonly url: string
  readonly address: string
  readonly token: string
  /** How long the others wait for a sign of life before they take over what it has, in milliseconds. */
  readonly lease: number
}

/** What a node says every tenth of a second. */
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

  /** Has it send, or stop sending once its last events are answered. */
  send(isSending: boolean) {
    if (this.isUp) this.#child.send({ isSending })
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#gone
  }

  /** Has it hand over what it has, and end. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM")
    await this.#gone
  }
}
