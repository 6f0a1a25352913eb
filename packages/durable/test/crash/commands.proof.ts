/** `DETENT_CRASH_KILLS=200 npm run proofs -- crash/commands` kills as often on each store. */
import { frozenWhileExecuting, killedWhileExecuting } from "./killedCommands.ts"

const kills = Number(process.env["DETENT_CRASH_KILLS"] ?? 100)

killedWhileExecuting({ sqlite: kills, postgres: kills })
frozenWhileExecuting(4)
