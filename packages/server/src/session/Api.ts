/** Sessions of browsers: a token is exchanged for a cookie that scripts cannot read. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/unstable/httpapi/HttpApiEndpoint"
import * as HttpApiGroup from "effect/unstable/httpapi/HttpApiGroup"
import * as HttpApiSchema from "effect/unstable/httpapi/HttpApiSchema"
import * as OpenApi from "effect/unstable/httpapi/OpenApi"
import { Millis } from "../api/Paging.ts"
import { problems } from "../api/Problem.ts"

export const Session = Schema.Struct({
  /** `read` only reads; `operate` may also change things. */
  role: Schema.Literals(["read", "operate"]),
  /** The server is read-only, for every role. */
  observes: Schema.Boolean,
  database: Schema.Literals(["Sqlite", "Postgres"]),
  /** Of the server. */
  version: Schema.String,
  /** The name of the node that answers; absent where it is read-only. */
  node: Schema.optionalKey(Schema.String),
  /** The data folder, as `--data` names it where the server was started. Absent where it is the default one. */
  data: Schema.optionalKey(Schema.String),
  /** Requests without a cookie need a token. */
  needsToken: Schema.Boolean,
  /** The systems that are on. */
  systems: Schema.Array(Schema.Literals(["knowledge", "uploads"])),
  /** When the cookie expires; absent where the request has none. */
  expiresAt: Schema.optionalKey(Millis),
}).annotate({ identifier: "Session" })

export const OpenSession = Schema.Struct({
  /** Default: that of the Authorization header. Not needed where the server has no tokens. */
  token: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
}).annotate({ identifier: "OpenSession" })

const path = "/api/v1/session"
const error = problems

export class SessionApi extends HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.get("get", path, { success: Session, error })
      .annotate(OpenApi.Summary, "Show the session")
      .annotate(OpenApi.Description, "The role of the caller, and facts about the server. Renews a cookie that expires soon."),
    HttpApiEndpoint.post("open", path, { payload: OpenSession, success: Session, error })
      .annotate(OpenApi.Summary, "Open a session")
      .annotate(
        OpenApi.Description,
        "Exchanges a token for a cookie of the same role, which scripts cannot read and another token of the server revokes. Requests " +
          "by cookie that change something need a body of JSON or a multipart form, and the Origin of the server.",
      ),
    HttpApiEndpoint.delete("end", path, { success: HttpApiSchema.NoContent, error })
      .annotate(OpenApi.Summary, "End the session")
      .annotate(OpenApi.Description, "Removes the cookie from the browser. Another token of the server revokes all cookies."),
  )
  .annotate(OpenApi.Description, "Sessions of browsers") {}
