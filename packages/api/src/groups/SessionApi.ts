/** Sessions of browsers: a token is exchanged for a cookie that scripts cannot read. */

import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { accessOf } from "../contract/Access.ts"
import { Millis } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"

export const Session = Schema.Struct({
  /** `read` only reads; `operate` may also change things. */
  role: Schema.Literals(["read", "operate"]),
  /** Whether the server is read-only, for every role. */
  observes: Schema.Boolean,
  database: Schema.Literals(["Sqlite", "Postgres"]),
  /** The version of the server. */
  version: Schema.String,
  /** The id of the node that answers; absent where the server is read-only. */
  node: Schema.optionalKey(Schema.String),
  /** The value of `--data` for commands in the folder where the server was started. Absent for the default folder. */
  data: Schema.optionalKey(Schema.String),
  /** Whether requests without a cookie need a token. */
  needsToken: Schema.Boolean,
  /** The systems that are on. */
  systems: Schema.Array(Schema.Literals(["knowledge", "uploads"])),
  /** When the cookie expires; absent where the request has none. */
  expiresAt: Schema.optionalKey(Millis),
}).annotate({ identifier: "Session" })

export const OpenSession = Schema.Struct({
  /** Default: the token of the Authorization header. Not needed where the server has no tokens. */
  token: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
}).annotate({ identifier: "OpenSession" })

const path = "/api/v1/session"
const error = problems

export class SessionApi extends HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.get("get", path, { success: Session, error })
      .annotate(OpenApi.Summary, "Show the session")
      .annotate(OpenApi.Description, "The role of the caller, and a description of the server. Renews a cookie that expires soon."),
    HttpApiEndpoint.post("open", path, { payload: OpenSession, success: Session, error })
      .annotateMerge(accessOf("session"))
      .annotate(OpenApi.Summary, "Open a session")
      .annotate(
        OpenApi.Description,
        "Exchanges a token for a cookie of the same role. Scripts cannot read the cookie, and a change of the server's token revokes it. " +
          "Requests by cookie that change something need a JSON or multipart body, and the Origin of the server.",
      ),
    HttpApiEndpoint.delete("end", path, { success: HttpApiSchema.NoContent, error })
      .annotateMerge(accessOf("session"))
      .annotate(OpenApi.Summary, "End the session")
      .annotate(OpenApi.Description, "Removes the cookie from the browser. A change of the server's token revokes all cookies."),
  )
  .annotate(OpenApi.Description, "Sessions of browsers") {}
