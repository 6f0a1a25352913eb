/** `DETENT_CRASH_KILLS=500 npm run proofs -- durable/test/crash/crash` kills as often on each store. */
import { killedUnderLoad } from "./killed.ts"

const kills = Number(process.env["DETENT_CRASH_KILLS"] ?? 100)

killedUnderLoad({ sqlite: kills, postgres: kills })
