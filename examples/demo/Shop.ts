/** The process of the shop, as the demo starts, kills and restarts it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import * as clients from "@detent/api/client"
import * as Effect from "effect/Effect"

export type Client = Effect.Success<ReturnType<typeof clients.makeClient>>

export interface Shop {
  readonly url: string
  readonly pid: number
  readonly client: Client
  /** Ends the process with SIGKILL: nothing of it can clean up. */
  readonly kill: () => Promise<void>
  /** Ends the process as a deployment does: it stores what it has accepted and hands running work back. */
  readonly stop: () => Promise<void>
  readonly ended: Promise<unknown>
}

/** Starts the process, and waits until its server listens. */
export const startShop = async (folder: string, providers: string): Promise<Shop> => {
  const child = spawn(process.execPath, [new URL("server.ts", import.meta.url).pathname, folder, providers], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const ended = once(child, "exit")
  const url = await Promise.race([firstLine(child), ended.then(() => undefined)])
  if (url === undefined || child.pid === undefined)
    throw new Error("the process of the shop ended before its server listened; the reason is above")
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    child.kill(signal)
    await ended
  }
  return {
    url,
    pid: child.pid,
    client: await Effect.runPromise(clients.makeClient({ url })),
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    ended,
  }
}

const firstLine = async (child: ChildProcess): Promise<string | undefined> => {
  if (child.stdout === null) return undefined
  for await (const line of createInterface(child.stdout)) return line
  return undefined
}
