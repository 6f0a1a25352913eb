import * as PostgresStore from "@detent/durable/PostgresStore"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { identitiesConformance } from "../verdict/identitiesConformance.ts"

identitiesConformance(
  "PostgreSQL",
  Effect.map(freshDatabase, (url) => ({ store: () => PostgresStore.layer({ url }) })),
)
