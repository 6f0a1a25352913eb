/**
 * The canonical graph of a namespace as one Turtle file, for whoever wants to open it with another tool. It follows the graph:
 * whoever changes the graph writes the file.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { CanonicalGraph } from "../graph/CanonicalGraph.ts"
import { exportGraph } from "../graph/GraphExport.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { Namespace } from "../storage/Identity.ts"
import { pathsOfNamespace } from "../storage/Paths.ts"
import { Storage } from "../storage/Storage.ts"
import { blobIn, type StorageFolder } from "../storage/Uri.ts"

/**
 * Gives the file and how many triples are in it. Of two that write at once the later may write an older version, sees that, and
 * writes again.
 */
export const publishGraph = (folder: StorageFolder, namespace: Namespace, ontology: OntologyIndex) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const canonical = yield* CanonicalGraph
    const uri = blobIn(folder, pathsOfNamespace(namespace).entities)
    const prefixes = ontology.namespace === "" ? {} : { [namespace]: ontology.namespace }
    let triples = 0
    let current = yield* canonical.current(namespace)
    while (Option.isSome(current)) {
      const written = current.value
      triples = 0
      const lines = Stream.mapArray(canonical.lines(written), (batch) => {
        triples += batch.length
        return batch
      })
      yield* storage.setStream(uri, Stream.encodeText(exportGraph(lines, "turtle", prefixes)))
      current = Option.filter(yield* canonical.current(namespace), ({ version }) => version !== written.version)
    }
    return { uri, triples }
  })
