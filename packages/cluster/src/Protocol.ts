/**
 * What nodes of a cluster say to each other: one procedure. A node sends requests for instances that another node has, and gets
 * a stream of answers, each as soon as it is known.
 */
import * as Schema from "effect/Schema"
import * as Rpc from "effect/unstable/rpc/Rpc"
import * as RpcGroup from "effect/unstable/rpc/RpcGroup"

const Request = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Send"), event: Schema.String, id: Schema.String, silent: Schema.optionalKey(Schema.Boolean) }),
  Schema.Struct({ _tag: Schema.tag("Start"), state: Schema.String, version: Schema.Number, at: Schema.Number }),
  Schema.Struct({ _tag: Schema.tag("Wake") }),
])

const Answer = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("Done"), taken: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ _tag: Schema.tag("Refused"), error: Schema.String }),
  Schema.Struct({ _tag: Schema.tag("Elsewhere"), reason: Schema.String }),
])

/** Requests for one instance, in the order in which they are to be carried out. */
export const Parcel = Schema.Struct({ machine: Schema.String, id: Schema.String, requests: Schema.Array(Request) })
export type Parcel = typeof Parcel.Type

/**
 * Answers by position in the flat list of requests. The first says that the instances have all requests, so that later ones do
 * not overtake them. One without answers says that the node is alive.
 */
const Progress = Schema.Struct({ answers: Schema.Array(Schema.Tuple([Schema.Number, Answer])) })
export type Progress = typeof Progress.Type

export const DeliverRpc = RpcGroup.make(
  Rpc.make("Deliver", { payload: { parcels: Schema.Array(Parcel) }, success: Progress, stream: true }),
)

/** The most requests of one call. */
export const callLimit = 256

export const path = "/cluster"
