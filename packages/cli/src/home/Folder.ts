/** The folder of a home, made where it is missing. */
import { existsSync, mkdirSync } from "node:fs"
import { dirname, resolve } from "node:path"
import * as Effect from "effect/Effect"
import { messageOf, WrongUsage } from "../Failure.ts"

export const madeFolder = (data: string): Effect.Effect<void, WrongUsage> =>
  Effect.try({
    try: () => makeFolder(resolve(data)),
    catch: (cause) =>
      new WrongUsage({ problem: `the folder ${data} cannot be made: ${messageOf(cause)}`, nextStep: "choose another with --data" }),
  })

/** One folder after the other: Node's recursive way never ends where the kernel keeps the folder, as below /proc. */
const makeFolder = (path: string): void => {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(path)) throw error
  }
}
