import { engineConformance } from "../../testing/index.ts"
import { sqliteLayer } from "../support/Sqlite.ts"

engineConformance("SQLite", sqliteLayer)
