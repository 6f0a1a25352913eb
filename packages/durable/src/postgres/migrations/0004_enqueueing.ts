/** What is enqueued where a worker waits is claimed with it. */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { enqueueFunction } from "../enqueueFunction.ts"

export const enqueueing = (schema: string) => Effect.flatMap(SqlClient, (sql) => Effect.asVoid(sql.unsafe(enqueueFunction(schema))))
