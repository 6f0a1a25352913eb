/** Creates a folder where it is missing. */
import { resolve } from "node:path"
import { makeFolder } from "@detent/workspace/Folder"
import * as Effect from "effect/Effect"
import { messageOf, WrongUsage } from "../Failure.ts"

export const madeFolder = (path: string, nextStep = "choose another with --data"): Effect.Effect<void, WrongUsage> =>
  Effect.try({
    try: () => makeFolder(resolve(path)),
    catch: (cause) => new WrongUsage({ problem: `the folder ${path} cannot be created: ${messageOf(cause)}`, nextStep }),
  })
