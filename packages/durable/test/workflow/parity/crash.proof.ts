/** `DETENT_CRASH_KILLS=200 npm run proofs -- parity/crash` kills as often. */
import { killedPrograms } from "./killedPrograms.ts"

const kills = Number(process.env["DETENT_CRASH_KILLS"] ?? 100)

killedPrograms({ onSqlite: kills, onPostgres: kills, theirs: kills })
