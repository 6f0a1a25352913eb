/** Servers in processes of their own, to be killed. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import * as Effect from "effect/Effect"

export interface ServerProcess {
  readonly child: ChildProcess
  readonly url: string
}

/** Runs a program of this folder that prints the address of its server. */
export const startServer = (program: string, data: string, port: string, ...more: ReadonlyArray<string>) =>
  Effect.promise(async (): Promise<ServerProcess> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, program), data, port, ...more], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const [line] = (await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`the server ended with ${code}`))),
    ])) as [Buffer]
    return { child, url: line.toString().trim() }
  })

export const killServer = ({ child }: ServerProcess, signal: NodeJS.Signals) =>
  Effect.promise(async () => {
    const over = once(child, "exit")
    child.kill(signal)
    const [code] = await over
    return code as number | null
  })
