import * as Effect from "effect/Effect"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import { describeWebhooks } from "../support/webhooks.ts"

describeWebhooks(
  "SQLite",
  Effect.map(Effect.orDie(freshFile), (file) => `sqlite:${file}`),
)
