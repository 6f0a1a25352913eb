import { assert, describe, it } from "@effect/vitest"
import * as Equal from "effect/Equal"
import * as Schema from "effect/Schema"
import { Document, DocumentJson } from "../../src/batch/Document.ts"
import { Manifest, ManifestFile, ManifestFileJson, ManifestJson } from "../../src/batch/Manifest.ts"
import { EntityRegistry, EntityRegistryJson } from "../../src/runs/ExtractStep.ts"
import {
  BatchArtifact,
  BatchArtifactJson,
  ExtractionRun,
  ExtractionRunJson,
  RunArtifact,
  RunArtifactJson,
  RunCheckpoint,
  RunCheckpointJson,
} from "../../src/runs/Run.ts"

const keepsEverything = <S extends Schema.Top>(name: string, schema: S, json: Schema.Codec<S["Type"], string>) =>
  it.prop(`${name} keeps every value through JSON and back`, [schema], ([value]) => {
    const text = Schema.encodeSync(json)(value)
    const back = Schema.decodeSync(json)(text)
    // Not deepStrictEqual, which tells -0, that JSON has no word for, from 0.
    assert.isTrue(Equal.equals(back, value))
    assert.strictEqual(Schema.encodeSync(json)(back), text)
  })

describe("JSON", () => {
  keepsEverything("a document", Document, DocumentJson)
  keepsEverything("a run", ExtractionRun, ExtractionRunJson)
  keepsEverything("a checkpoint", RunCheckpoint, RunCheckpointJson)
  keepsEverything("an artifact", RunArtifact, RunArtifactJson)
  keepsEverything("an artifact of a batch of chunks", BatchArtifact, BatchArtifactJson)
  keepsEverything("a manifest", Manifest, ManifestJson)
  keepsEverything("a manifest written by hand", ManifestFile, ManifestFileJson)
  keepsEverything("an entity registry", EntityRegistry, EntityRegistryJson)

  it("a manifest that points out of its folder is refused", () => {
    const decode = Schema.decodeUnknownExit(ManifestFileJson)
    const manifest = (source: string) => JSON.stringify({ targetNamespace: "harbours", ontology: "ontology.ttl", documents: [{ source }] })
    assert.strictEqual(decode(manifest("documents/a.txt"))._tag, "Success")
    for (const source of ["../secret.txt", "/etc/passwd", "documents/../../x", "https://example.org/a.txt"]) {
      assert.strictEqual(decode(manifest(source))._tag, "Failure", source)
    }
  })
})
