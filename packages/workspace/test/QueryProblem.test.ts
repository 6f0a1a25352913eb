import { QueryRefused } from "@detent/knowledge"
import { assert, describe, it } from "@effect/vitest"
import { explained } from "../src/graph/QueryProblem.ts"

const told = (sparql: string, problem: string) => explained(sparql, new QueryRefused({ problem })).message

describe("a query that is refused", () => {
  it.each([
    [
      "SELEC ?x",
      "error at 1:9: expected one of DESCRIBE, [_]",
      "at 1:1 (line:column) SELEC does not begin a query; begin with SELECT, ASK, CONSTRUCT or DESCRIBE",
    ],
    [
      "# all\nPREFIX a: <urn:a>\n  hello { }",
      "error at 3:8: expected [_]",
      "at 3:3 (line:column) hello does not begin a query; begin with SELECT",
    ],
    ["{ ?s ?p ?o }", "error at 1:1: expected [_]", "at 1:1 (line:column) { does not begin a query"],
    ["  ", "error at 1:3: expected [_]", "it is empty; begin with SELECT"],
    ["clear all", "error at 1:10: expected [_]", "it would change the graph; only SELECT, ASK, CONSTRUCT, DESCRIBE are answered"],
    ["SELECT * { ex:a ?p ?o }", "error at 1:20: expected OPTIONAL", "the prefix ex: is not declared; write PREFIX ex: <…> before it"],
    [
      "SELECT ?x WHER { ?s ?p ?o }",
      "error at 1:16: expected one of DISTINCT, WHERE",
      "at 1:16 (line:column) expected DISTINCT, WHERE; correct it there",
    ],
    [
      'PREFIX ex: <urn:x:> SELECT * { ex:a <urn:p> "a:b" . _:c ex:d ?e:f } # g:h',
      'error at 1:65: expected one of "a", "b", "c", "d", "e", "f", [\'0\'..=\'9\']',
      'at 1:65 (line:column) expected one of "a", "b", "c", "d", "e" and others',
    ],
    ["SELECT * { }", "too deep", "too deep; correct it"],
  ])("%s is refused with what is wrong", (sparql, problem, expected) => {
    assert.include(told(sparql, problem), `the query was refused: ${expected}`)
  })
})
