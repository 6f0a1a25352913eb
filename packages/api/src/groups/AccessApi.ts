/** Named tokens of the server, and the audit log of its operators. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { accessOf } from "../contract/Access.ts"
import { Count, Millis, PageLimit, pageOf } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { Actor } from "./InstanceApi.ts"

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const names = Schema.Array(text).check(Schema.isMaxLength(100))

const token = {
  name: Schema.String,
  role: Schema.Literals(["read", "operate"]),
  /** The machines whose instances it is for. Absent: everything that the role may do. */
  machines: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The events that may be sent with it; nothing else may be changed. Absent: all. */
  events: Schema.optionalKey(Schema.Array(Schema.String)),
  createdAt: Millis,
  /** Who made it. */
  createdBy: Schema.String,
  expiresAt: Schema.optionalKey(Millis),
  revokedAt: Schema.optionalKey(Millis),
}

export const AccessToken = Schema.Struct(token).annotate({ identifier: "AccessToken" })

export const MadeToken = Schema.Struct({
  ...token,
  /** The secret. It is shown here only. */
  token: Schema.String,
}).annotate({ identifier: "MadeToken" })

export const CreateToken = Schema.Struct({
  name: text,
  role: Schema.Literals(["read", "operate"]),
  machines: Schema.optionalKey(names),
  events: Schema.optionalKey(names),
  /** Such as `90 days`. Default: it does not end. */
  expiresIn: Schema.optionalKey(text),
}).annotate({ identifier: "CreateToken" })

export const RotateToken = Schema.Struct({
  /** How long the secret before remains valid, such as `1 hour`. Default: a day. */
  keep: Schema.optionalKey(text),
}).annotate({ identifier: "RotateToken" })

export const AuditEntry = Schema.Struct({
  number: Schema.Int,
  at: Millis,
  actor: Actor,
  /** The operation as this API names it, such as `commands.pause`. */
  operation: Schema.String,
  /** What it was done to. */
  object: Schema.Record(Schema.String, Schema.Json),
  /** What else was asked for, shortened. */
  detail: Schema.Record(Schema.String, Schema.Json),
  outcome: Schema.Literals(["done", "refused"]),
  /** Why it was refused. */
  problem: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "AuditEntry" })

const params = { name: text }
const path = "/api/v1/tokens/:name"
const error = problems
const operators = accessOf("operator")

export class AccessApi extends HttpApiGroup.make("access")
  .add(
    HttpApiEndpoint.get("listTokens", "/api/v1/tokens", { success: Schema.Struct({ tokens: Schema.Array(AccessToken) }), error })
      .annotateMerge(operators)
      .annotate(OpenApi.Summary, "List named tokens")
      .annotate(OpenApi.Description, "By name, with those that have ended. Their secrets are not kept."),
    HttpApiEndpoint.post("createToken", "/api/v1/tokens", { payload: CreateToken, success: MadeToken, error })
      .annotate(OpenApi.Summary, "Make a named token")
      .annotate(
        OpenApi.Description,
        "A token of a role, for all machines or for some. The secret is in this answer only, and a repeated request does not get it " +
          "again. Servers accept it within two seconds.",
      ),
    HttpApiEndpoint.post("rotateToken", `${path}/rotate`, { params, payload: RotateToken, success: MadeToken, error })
      .annotate(OpenApi.Summary, "Replace the secret of a token")
      .annotate(OpenApi.Description, "A new secret of the same role and scope. The one before remains valid for a time: two at most are."),
    HttpApiEndpoint.post("revokeToken", `${path}/revoke`, { params, success: Schema.Struct({ revoked: Schema.Int }), error })
      .annotate(OpenApi.Summary, "Revoke a token")
      .annotate(OpenApi.Description, "Ends all its secrets. Other servers refuse them within two seconds."),
    HttpApiEndpoint.get("audit", "/api/v1/audit", {
      query: {
        /** Only entries whose actor, such as `user ada`, contains this text. */
        actor: Schema.optionalKey(text),
        /** Only entries whose operation begins with this text, such as `schedules.`. */
        operation: Schema.optionalKey(text),
        /** Only entries of this time and later, in milliseconds since 1970. */
        since: Schema.optionalKey(Count),
        /** Only entries before this number: `next` of the page before. */
        before: Schema.optionalKey(Count),
        limit: Schema.optionalKey(PageLimit),
      },
      success: pageOf({ entries: Schema.Array(AuditEntry) }, Schema.Int),
      error,
    })
      .annotateMerge(operators)
      .annotate(OpenApi.Summary, "Show the audit log")
      .annotate(
        OpenApi.Description,
        "What operators did, newest first: who, when, what, and how it ended. Starts and events are in the histories of their instances.",
      ),
  )
  .annotate(OpenApi.Description, "Tokens and the audit log") {}
