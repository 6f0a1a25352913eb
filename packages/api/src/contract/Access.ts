/**
 * What a server must know of a request before it routes it: who may send it, whether its body is a file, whether its answer is a stream.
 * An endpoint says who may send it where that differs from the rule of its method; the rest follows from its schemas.
 */
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * `everyone`: no token is needed, since load balancers have none. `session`: opens or ends a session, which needs neither a token nor a
 * role. `reader`: the role `read` suffices. `operator`: the role `operate`. `queue`: also a job queue, whose signature the handler
 * verifies; the answer may take as long as the queue waits.
 */
export type Access = "everyone" | "session" | "reader" | "operator" | "queue"

const Annotation = Context.Reference<Access | undefined>("@detent/api/Access", { defaultValue: () => undefined })

/** The field of an operation that carries its access to {@link takeAccess}. It is not in the document. */
const carrier = "x-access"

/** The annotations of an endpoint whose access differs from the rule of its method. */
export const accessOf = (access: Access): Context.Context<never> =>
  Context.make(OpenApi.Override, { [carrier]: access }).pipe(Context.add(Annotation, access)) as Context.Context<never>

/** Reading needs the role `read`; everything else may change something. */
const byMethod = (method: string): Access => (method.toUpperCase() === "GET" ? "reader" : "operator")

/** Returns the access of an operation of the OpenAPI document, and the operation without the field that carried it. */
export const takeAccess = (method: string, { [carrier]: access, ...operation }: OpenApi.OpenAPISpecOperation & { [carrier]?: Access }) => ({
  access: access ?? byMethod(method),
  operation: operation as OpenApi.OpenAPISpecOperation,
})

export interface RequestTraits {
  readonly access: Access
  /** Whether the body is a form with a file, which may be large and needs no length. */
  readonly takesFile: boolean
  /** Whether the answer is a live stream. */
  readonly isStream: boolean
}

interface Route {
  readonly method: string
  /** A segment that begins with a colon is a parameter. */
  readonly segments: ReadonlyArray<string>
  readonly acceptsParams: (params: Readonly<Record<string, string>>) => boolean
  readonly traits: RequestTraits
}

export type RequestTable = (method: string, path: string) => RequestTraits

/** The table of the endpoints of an API. `others`: routes beside it. A request that no route takes has the traits of its method. */
export const makeRequestTable = <Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<string, Groups>,
  others: ReadonlyArray<{ readonly method: string; readonly path: string; readonly access: Access }> = [],
): RequestTable => {
  const routes: Array<Route> = others.map(({ method, path, access }) => ({
    method,
    segments: path.split("/"),
    acceptsParams: () => true,
    traits: { access, takesFile: false, isStream: false },
  }))
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, mergedAnnotations }) => {
      const access = Context.get(mergedAnnotations, Annotation) ?? byMethod(endpoint.method)
      const traits = { access, takesFile: endpoint.payload.has("multipart/form-data"), isStream: isStream(endpoint) }
      // The rule of the method answers for all others, which keeps the table short.
      if (traits.takesFile || traits.isStream || access !== byMethod(endpoint.method))
        routes.push({
          method: endpoint.method,
          segments: endpoint.path.split("/"),
          acceptsParams: endpoint.params === undefined ? () => true : Schema.is(endpoint.params),
          traits,
        })
    },
  })
  return (method, path) => {
    const name = method === "HEAD" || method === "OPTIONS" ? "GET" : method
    const segments = path.split("/")
    return routes.find((route) => route.method === name && matches(route, segments))?.traits ?? ruleOf(name)
  }
}

const reading: RequestTraits = { access: "reader", takesFile: false, isStream: false }
const changing: RequestTraits = { access: "operator", takesFile: false, isStream: false }

const ruleOf = (method: string): RequestTraits => (byMethod(method) === "reader" ? reading : changing)

const isStream = ({ success }: HttpApiEndpoint.Top): boolean =>
  [...success].some((schema) => Predicate.hasProperty(schema, "contentType") && schema.contentType === "text/event-stream")

const matches = ({ segments, acceptsParams }: Route, path: ReadonlyArray<string>): boolean => {
  if (segments.length !== path.length) return false
  const params: Record<string, string> = {}
  for (const [index, segment] of segments.entries()) {
    const value = path[index] ?? ""
    if (segment.startsWith(":")) params[segment.slice(1)] = value
    else if (segment !== value) return false
  }
  return acceptsParams(params)
}
