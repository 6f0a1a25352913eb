/** The three stages after extraction, each from one stored file of triples to the next. */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CanonicalGraph, type Contribution } from "../graph/CanonicalGraph.ts"
import { storedLines } from "../graph/StoredLines.ts"
import { type SortFailed, sortLines } from "../rdf/LineSort.ts"
import { resolveGraphs } from "../resolve/ResolvedGraph.ts"
import { Extractors } from "../runs/Extractors.ts"
import type { ArtifactError } from "../runs/RunArtifacts.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { ArtifactStore } from "../storage/ArtifactStore.ts"
import { contentHashOf } from "../storage/Identity.ts"
import { linesOfBatch, pathsOfBatch } from "../storage/Paths.ts"
import { getText, Storage } from "../storage/Storage.ts"
import { blobIn, type StorageFolder, type StorageUri } from "../storage/Uri.ts"
import { derivedShapes } from "../validate/DerivedShapes.ts"
import { onlyHeld, quarantine, withoutHeld } from "../validate/Quarantine.ts"
import { reportTurtle } from "../validate/ReportTurtle.ts"
import { readShapes } from "../validate/Shapes.ts"
import { validate } from "../validate/Validation.ts"
import { type ValidationReport, ValidationReportJson, violationText } from "../validate/Violation.ts"
import { E, type S, type Tell } from "./BatchMachine.ts"
import type { BatchState } from "./BatchState.ts"
import { BatchStopped } from "./BatchStopped.ts"
import { publishGraph } from "./Publication.ts"
import { documentGraphs, loadManifest, writeLines } from "./StageFiles.ts"

type StageReadError = ArtifactError | SortFailed

type Lines = Stream.Stream<string, StageReadError, RunStore | ArtifactStore | Storage>

/** The sorted lines of each document. */
export type DocumentGraphs = Stream.Stream<Lines, StageReadError, RunStore | ArtifactStore | Storage>

/** What new entities of a namespace are called. */
const entityBase = (namespace: string) => `urn:detent:graph:${namespace}/`

const equipped = (state: { readonly manifestUri: Parameters<typeof loadManifest>[1] }) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, state.manifestUri)
    const ontology = yield* Effect.flatMap(Extractors, (extractors) => extractors.ontology(manifest.ontologyUri))
    return { manifest, ontology }
  })

/** Of the documents that the batch has extracted, unless others are given. */
export const resolveEntities = (
  folder: StorageFolder,
  state: typeof S.Resolving.Type,
  tell: Tell,
  documents: DocumentGraphs = documentGraphs(state.batchId),
) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const { ontology } = yield* equipped(state)
    const current = yield* canonical.current(state.targetNamespace)
    // What this batch contributed before, if it is ingested again, is no reason to keep an IRI.
    const others = Option.map(current, (version) => ({
      ...version,
      contributions: version.contributions.filter(({ batchId }) => batchId !== state.batchId),
    }))
    const existing = Option.match(others, { onNone: () => Stream.empty, onSome: canonical.lines })
    const graph = state.config.resolveEntities
      ? yield* resolveGraphs<StageReadError, RunStore | ArtifactStore | Storage>({
          documents,
          existing,
          ontology,
          base: entityBase(state.targetNamespace),
        })
      : { lines: Stream.flatten(documents), mentions: state.entityCount, entities: state.entityCount, merges: [] }
    // The documents of an attempt and the graph they meet decide what comes out.
    const from = contentHashOf(JSON.stringify([state.attempt, Option.match(current, { onNone: () => "", onSome: (one) => one.version })]))
    const written = yield* writeLines(blobIn(folder, linesOfBatch(state.batchId, from).resolved), sortLines(graph.lines))
    yield* tell(
      E.ResolutionComplete({ graph: written, entitiesTotal: graph.mentions, clustersFormed: graph.entities }),
      `${state.attempt}/resolved`,
    )
  })

/** Against the shapes of the manifest, unless others are given; without any, against what the ontology says. */
export const validateGraph = (folder: StorageFolder, state: typeof S.Validating.Type, tell: Tell, otherShapes?: StorageUri) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const { manifest, ontology } = yield* equipped(state)
    const shaclUri = otherShapes ?? manifest.shaclUri
    const shapesText = shaclUri === undefined ? derivedShapes(ontology) : yield* getText(storage, shaclUri)
    const shapes = yield* readShapes(shapesText, shaclUri ?? "the ontology")
    const lines = storedLines(storage, state.resolvedGraph)
    const change = yield* changeBy(state, lines)
    const held = state.config.validation === "quarantine" ? yield* quarantine(change, shapes, ontology) : undefined
    const found = held ?? (yield* validate(change, shapes, ontology))
    const paths = pathsOfBatch(state.batchId)
    const reportUri = blobIn(folder, paths.validation)
    const report: ValidationReport = {
      conforms: found.violations === 0,
      violations: found.violations,
      warnings: found.warnings,
      listed: found.listed,
      quarantined: held?.held.entities() ?? [],
      statements: held?.statements ?? [],
      remaining: held?.remaining ?? found.violations,
    }
    yield* storage.setStream(blobIn(folder, paths.report), Stream.encodeText(reportTurtle(state.batchId, report)))
    yield* storage.set(reportUri, yield* Effect.orDie(Schema.encodeEffect(ValidationReportJson)(report)))
    const first = found.listed.find(({ severity }) => severity === "Violation")
    if (first !== undefined && state.config.validation === "fail")
      return yield* new BatchStopped({
        code: "ValidationFailed",
        problem: `${found.violations} violations, the first: ${violationText(first)}; see ${reportUri}`,
      })
    const quarantined = held?.held.size ?? 0
    const parted = linesOfBatch(state.batchId, contentHashOf(JSON.stringify([state.resolvedGraph.hash, held?.held.lines() ?? []])))
    const graph =
      held === undefined || quarantined === 0
        ? state.resolvedGraph
        : yield* writeLines(blobIn(folder, parted.validated), withoutHeld(lines, held.held))
    if (held !== undefined && quarantined > 0) yield* writeLines(blobIn(folder, parted.quarantine), onlyHeld(lines, held.held))
    yield* tell(E.ValidationComplete({ graph, violations: found.violations, quarantined, reportUri }), `${state.attempt}/validated`)
  })

/** What the batch would change of the graph: its lines take the place of those it contributed before. */
const changeBy = <E>({ targetNamespace, batchId }: Pick<BatchState, "targetNamespace" | "batchId">, added: Stream.Stream<string, E>) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const current = yield* canonical.current(targetNamespace)
    if (Option.isNone(current)) return { added }
    const linesOf = (isWanted: (one: Contribution) => boolean) =>
      canonical.lines({ ...current.value, contributions: current.value.contributions.filter(isWanted) })
    return {
      added,
      existing: linesOf((one) => one.batchId !== batchId),
      replaced: linesOf((one) => one.batchId === batchId),
    }
  })

/** Whatever keeps it from being finished, the canonical graph is then as it was before. */
export const ingestGraph = (folder: StorageFolder, state: typeof S.Ingesting.Type, tell: Tell) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const { targetNamespace, batchId, validatedGraph } = state
    const { ontology } = yield* equipped(state)
    const before = Option.flatMap(yield* canonical.current(targetNamespace), ({ contributions }) =>
      Arr.findFirst(contributions, (one) => one.batchId === batchId),
    )
    const add = Effect.gen(function* () {
      const { version: canonicalVersion } = yield* canonical.contribute(targetNamespace, { batchId, ...validatedGraph })
      return { canonicalVersion, canonicalGraphUri: yield* publishGraph(folder, targetNamespace, ontology) }
    })
    const added = yield* Effect.onError(add, (cause) =>
      // An interrupt is a cancel, whose state withdraws it, or the process ends and goes on later.
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.orDie(
            Option.match(before, {
              onNone: () => Effect.asVoid(canonical.withdraw(targetNamespace, batchId)),
              onSome: (contribution) => Effect.asVoid(canonical.contribute(targetNamespace, contribution)),
            }),
          ),
    )
    yield* tell(E.IngestionComplete(added), `${state.attempt}/ingested`)
  })

/** Takes what a batch added out of the canonical graph. */
export const withdrawGraph = (folder: StorageFolder, state: Pick<BatchState, "manifestUri" | "batchId" | "targetNamespace">) =>
  Effect.gen(function* () {
    const withdrawn = yield* Effect.flatMap(CanonicalGraph, (canonical) => canonical.withdraw(state.targetNamespace, state.batchId))
    const { ontology } = yield* equipped(state)
    yield* publishGraph(folder, state.targetNamespace, ontology)
    return withdrawn
  })
