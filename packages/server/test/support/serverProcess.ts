/** Servers in processes of their own, to be killed. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { programOf } from "../../../store/test/support/programs.ts"

export interface ServerProcess {
  readonly child: ChildProcess
  readonly url: string
}

/** The address that a program prints in a line of its own. Lines of its log may come before. */
export const addressOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let printed = ""
    child.stdout?.on("data", (data: Buffer) => {
      printed += data.toString()
      const address = /^http:\S+$/m.exec(printed)?.[0]
      if (address !== undefined) resolve(address)
    })
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)))
  })

/** Runs a program of this folder that prints the address of its server. */
export const startServer = (program: string, data: string, port: string, ...more: ReadonlyArray<string>) =>
  Effect.promise(async (): Promise<ServerProcess> => {
    const child = spawn(process.execPath, [programOf(join(import.meta.dirname, program)), data, port, ...more], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    return { child, url: await addressOf(child) }
  })

export const killServer = ({ child }: ServerProcess, signal: NodeJS.Signals) =>
  Effect.promise(async () => {
    const over = once(child, "exit")
    child.kill(signal)
    const [code] = await over
    return code as number | null
  })
