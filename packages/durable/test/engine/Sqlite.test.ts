import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { engineConformance } from "../../testing/index.ts"

engineConformance("SQLite", sqliteLayer)
