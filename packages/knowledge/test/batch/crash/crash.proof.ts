/** `DETENT_CRASH_KILLS=200 npm run proofs -- knowledge/test/batch/crash` kills about as often in all. */
import { killedBatch, sharedBatch, useDocuments, wholePlan } from "./killed.ts"

useDocuments()
killedBatch(wholePlan, Math.ceil(Number(process.env["DETENT_CRASH_KILLS"] ?? 100) / wholePlan.length))
sharedBatch()
