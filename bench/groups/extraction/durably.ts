/** The extraction as runs on a SQLite file, with artifacts in a folder. */
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { FileStorage, FileUri, StorageFolder } from "@detent/blobs"
import * as DurableWorkflow from "@detent/durable/DurableWorkflow"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { ArtifactStore, Extractions, Extractors, RunStore } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ExtractionWorkflow from "../../../packages/knowledge/src/runs/ExtractionWorkflow.ts"
import { examplesFile, ontologyFile } from "./Texts.ts"

export const uriOf = (file: string) => FileUri.make(String(pathToFileURL(file)))

/** With the default settings, which are safe at a power failure. */
export const durableLayer = (folder: string, extractors = Extractors.layerBuiltIn) =>
  ExtractionWorkflow.layer.pipe(
    Layer.provideMerge(Extractions.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        DurableWorkflow.layer({ nodeId: "bench" }),
        RunStore.layer,
        ArtifactStore.layer(StorageFolder.make(`${pathToFileURL(join(folder, "artifacts"))}/`)),
        extractors,
      ),
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        SqliteStore.layer({ filename: join(folder, "runs.db") }),
        FileStorage.layer({ root: folder, readable: [dirname(ontologyFile)] }),
      ),
    ),
  )

export const extractDurably = (file: string) =>
  Effect.flatMap(Extractions, (extractions) =>
    extractions.run({ sourceUri: uriOf(file), ontologyUri: uriOf(ontologyFile), examplesUri: uriOf(examplesFile) }),
  )
