import { killedUnderLoad } from "./killed.ts"

killedUnderLoad({ sqlite: 3, postgres: 3 })
