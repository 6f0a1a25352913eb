import * as Effect from "effect/Effect"
import { identitiesConformance } from "./identitiesConformance.ts"

identitiesConformance("SQLite", Effect.succeed({}))
