import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { describeWebhooks } from "../support/webhooks.ts"

describeWebhooks("PostgreSQL", Effect.orDie(freshDatabase))
