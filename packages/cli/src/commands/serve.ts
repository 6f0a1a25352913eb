import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
import { listenOptions, serving } from "../serving/Serving.ts"
import { observed, workingOnAll } from "../workspace/Opening.ts"
import { clusterOf, clusterOptions } from "./shared.ts"

export default command(
  {
    name: "serve",
    serves: true,
    summary: "the server with its workers, for a deployment",
    arguments: [],
    options: [
      { name: "observe", kind: "flag", summary: "read-only: this process executes and changes nothing" },
      ...listenOptions,
      ...clusterOptions,
    ],
    examples: [
      {
        line: "DETENT_TOKEN=… detent serve --host 0.0.0.0 --data /srv/detent --database postgres://db/detent",
        says: "reachable from other machines, so a token is required",
      },
      {
        line: "detent serve --data gs://results/detent --database postgres://db/detent",
        says: "files in a bucket; s3:// works the same",
      },
      {
        line: "DETENT_CLUSTER_TOKEN=… detent serve --cluster 10.0.0.7:7700 --database postgres://db/detent",
        says: "a node of a cluster: each instance has one owner",
      },
    ],
  },
  (input) =>
    input.observe
      ? serving(input, "observe", observed(input), Effect.void)
      : serving(input, "work", workingOnAll(input, clusterOf(input)), Effect.void),
)
