import { ContentHash } from "@detent/blobs/ContentHash"
import { RelativePath } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ArtifactKey, BatchId, DocumentId, Namespace, OntologyName, RunId } from "../../src/storage/Identity.ts"
import * as Paths from "../../src/storage/Paths.ts"

const fits = (schema: Schema.Decoder<string>, path: string) => {
  assert.isTrue(Schema.is(schema)(path), path)
  assert.isTrue(Schema.is(RelativePath)(path), path)
}

describe("paths", () => {
  it("are laid out as the specification says", () => {
    const document = DocumentId.make("doc-0123456789ab")
    const batch = BatchId.make("batch-0123456789ab")
    assert.deepStrictEqual(Paths.pathsOfDocument(document), {
      metadata: "documents/doc-0123456789ab/metadata.json",
      input: "documents/doc-0123456789ab/input/content.txt",
      graph: "documents/doc-0123456789ab/extraction/graph.ttl",
    })
    const { manifest, status, validation, canonical } = Paths.pathsOfBatch(batch)
    assert.deepStrictEqual({ manifest, status, validation, canonical } as Readonly<Record<string, string>>, {
      manifest: "batches/batch-0123456789ab/manifest.json",
      status: "batches/batch-0123456789ab/status.json",
      validation: "batches/batch-0123456789ab/validation/report.json",
      canonical: "batches/batch-0123456789ab/canonical/final.ttl",
    })
    assert.strictEqual(Paths.pathsOfNamespace(Namespace.make("football")).entities, "canonical/football/entities.ttl")
    assert.strictEqual(
      Paths.pathOfOntology(Namespace.make("football"), OntologyName.make("ontology"), ContentHash.make("a1b2c3d4e5f6a7b8")),
      "ontologies/football/ontology/a1b2c3d4e5f6a7b8.ttl",
    )
  })

  it.prop("fit their templates for every id", [DocumentId, BatchId], ([document, batch]) => {
    const paths = Paths.pathsOfDocument(document)
    fits(Paths.DocumentMetadataPath, paths.metadata)
    fits(Paths.DocumentInputPath, paths.input)
    fits(Paths.DocumentGraphPath, paths.graph)
    const ofBatch = Paths.pathsOfBatch(batch)
    fits(Paths.BatchManifestPath, ofBatch.manifest)
    fits(Paths.BatchStatusPath, ofBatch.status)
    fits(Paths.BatchMergesPath, ofBatch.merges)
    fits(Paths.BatchValidationPath, ofBatch.validation)
    fits(Paths.BatchCanonicalPath, ofBatch.canonical)
    fits(Paths.BatchReportPath, ofBatch.report)
  })

  it.prop(
    "of artifacts, ontologies and namespaces too",
    [RunId, ContentHash, ArtifactKey, Namespace, OntologyName],
    ([run, hash, key, namespace, name]) => {
      fits(Paths.ArtifactPath, Paths.pathOfArtifact(run, hash, key))
      fits(Paths.OntologyPath, Paths.pathOfOntology(namespace, name, hash))
      fits(Paths.CanonicalPath, Paths.pathsOfNamespace(namespace).entities)
      for (const path of Object.values(Paths.linesOfBatch(BatchId.make("batch-0123456789ab"), hash))) fits(Paths.BatchLinesPath, path)
    },
  )

  it("that climb, or name something else, do not fit", () => {
    const is = Schema.is(Paths.DocumentGraphPath)
    for (const path of [
      "documents/../extraction/graph.ttl",
      "documents/doc-0123456789ab/../x/extraction/graph.ttl",
      "documents/doc-0123456789ab/extraction/graph.ttl/..",
      "/documents/doc-0123456789ab/extraction/graph.ttl",
      "documents/doc-0123456789ab/extraction/graph.ttl\n",
    ]) {
      assert.isFalse(is(path), path)
    }
    assert.isFalse(Schema.is(Paths.OntologyPath)("ontologies/football/../../etc/a1b2c3d4e5f6a7b8.ttl"))
  })
})
