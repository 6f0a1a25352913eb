import { killedUploads } from "./killed.ts"

killedUploads({ kills: 1, items: 4000 })
