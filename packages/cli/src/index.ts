/** The `detent` command, for programs that start it themselves. */

export { ExitCode } from "./line/ExitCode.mjs"
export { main } from "./main.ts"
