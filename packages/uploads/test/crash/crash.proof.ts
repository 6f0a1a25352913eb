/** `DETENT_CRASH_KILLS=200 npm run proofs -- uploads/test/crash` kills as often. */
import { killedUploads } from "./killed.ts"

killedUploads({ kills: Number(process.env["DETENT_CRASH_KILLS"] ?? 50), items: 15_000 })
