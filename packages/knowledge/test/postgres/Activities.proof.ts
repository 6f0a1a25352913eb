import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { activitiesConformance } from "../dispatch/activitiesConformance.ts"

activitiesConformance(
  "PostgreSQL",
  Effect.map(freshDatabase, (url) => ({ store: () => PostgresStore.layer({ url }) })),
)
