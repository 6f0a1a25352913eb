import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { BatchApi } from "@detent/api"
import { assert, it } from "vitest"
import { decoded, detent as run, temporaryFolder } from "./support/Detent.ts"

const ontology = `@prefix : <https://example.org/co#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
  @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
  :Company a owl:Class . :Place a owl:Class .
  :seat a owl:ObjectProperty ; rdfs:label "seat" ; rdfs:domain :Company ; rdfs:range :Place .
  :founded a owl:DatatypeProperty ; rdfs:label "founded" ; rdfs:domain :Company ; rdfs:range xsd:gYear .`

it("proposes a mapping, writes it, shows what it gives, and runs a batch with it", async () => {
  const cwd = await temporaryFolder()
  const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })
  await mkdir(join(cwd, "data"))
  await writeFile(join(cwd, "co.ttl"), ontology)
  await writeFile(
    join(cwd, "data/companies.csv"),
    'Code,Security,Seat,Founded,Colour\nA1,Halcyon,"Kell, Ost",1902,red\nB2,Sorvik,Kell,2013 (1888),blue\n',
  )
  const proposed = await detent("batch", "map", "data", "--ontology", "co.ttl", "--write", "mapping.yaml")
  assert.strictEqual(proposed.code, 0, proposed.err)
  assert.match(proposed.out, /^companies\.csv {2}1 document; 2 entities and 3 facts in 2 records$/m)
  assert.match(proposed.out, /^ {2}Halcyon seat Kell, Ost {2}"Seat: Kell, Ost"$/m)
  assert.include(proposed.out, '1 value that cannot be read: "2013 (1888)"')
  assert.include(proposed.out, "2 cells that gave no fact: Colour (2,")
  const file = await readFile(join(cwd, "mapping.yaml"), "utf8")
  assert.match(file, /^# companies\.csv: no property for Colour$/m)
  assert.match(file, /^ {4}name: Security$/m)
  await writeFile(join(cwd, "mapping.yaml"), file.replace("property: seat", "property: seats"))
  const wrong = await detent("batch", "map", "data", "--ontology", "co.ttl", "--mapping", "mapping.yaml")
  assert.strictEqual(wrong.code, 5)
  assert.include(wrong.out, 'the ontology has no property "seats"')
  await writeFile(join(cwd, "mapping.yaml"), `${file}    leaveOut: [Colour]\n`)
  const line = ["batch", "run", "data", "--ontology", "co.ttl", "--namespace", "companies", "--mapping", "mapping.yaml"]
  const ran = await detent(...line, "--json")
  assert.strictEqual(ran.code, 0, ran.err)
  const status = decoded(BatchApi.BatchStatus, ran.out).at(-1)
  assert.deepInclude(status, { state: "Completed", relations: 3 })
  assert.isUndefined(status?.notRead)
  assert.strictEqual(status?.misfits?.count, 1)
  const without = await detent(...line.slice(0, -2), "--data", "other")
  assert.match(without.out, /^not read +\d+ cells that gave no fact: /m)
})
