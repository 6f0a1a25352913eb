import { killedBatch, onceInEachStage, useDocuments } from "./killed.ts"

useDocuments()
killedBatch(onceInEachStage, 1)
