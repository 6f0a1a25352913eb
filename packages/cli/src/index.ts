/** The `detent` command, for programs that start it themselves. */

export { ExitCode } from "./ExitCode.mjs"
export { main } from "./main.ts"
