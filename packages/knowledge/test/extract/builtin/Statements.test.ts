import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

/** Workshops, the people who founded or direct them, and where they stand. No examples: the labels alone have to do. */
const ontology = loadOntology({
  name: "workshops.ttl",
  text: `@prefix : <https://example.org/workshops#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Person a owl:Class ; rdfs:label "person" . :Workshop a owl:Class ; rdfs:label "workshop" ; owl:disjointWith :Person .
    :City a owl:Class ; rdfs:label "city" ; owl:disjointWith :Person, :Workshop .
    :foundedBy a owl:ObjectProperty ; rdfs:label "founded by" ; rdfs:domain :Workshop ; rdfs:range :Person .
    :directedBy a owl:ObjectProperty ; rdfs:label "directed by" ; rdfs:domain :Workshop ; rdfs:range :Person .
    :locatedIn a owl:ObjectProperty ; rdfs:label "located in" ; rdfs:domain :Workshop ; rdfs:range :City .
    :bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :City .`,
})

const factsOf = Effect.fnUntraced(function* (text: string) {
  const index = yield* ontology
  const chunk = { index: 0, text, offset: 0 }
  const extractor = BuiltIn.make()
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts.map(
    ({ subject, property, object }) =>
      `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.lexical}`,
  )
})

const founded = "Pellham Works | founded by | Tamsin Orr"
const located = "Pellham Works | located in | Varno"
const directed = "Pellham Works | directed by | Tamsin Orr"
const born = "Tamsin Orr | born in | Varno"

/** Each sentence that states nothing, a sentence near it that states something, and what that is. */
const pairs: ReadonlyArray<readonly [nothing: string, something: string, fact: string]> = [
  // Not
  ["Pellham Works was not founded by Tamsin Orr.", "Pellham Works was founded by Tamsin Orr.", founded],
  ["Pellham Works wasn't founded by Tamsin Orr.", "Pellham Works was founded not by Ilse Dorn but by Tamsin Orr.", founded],
  ["Pellham Works isn’t located in Varno.", "Pellham Works is located in Varno, isn’t it famous.", located],
  ["Tamsin Orr did not found Pellham Works.", "Tamsin Orr, who did not finish school, founded Pellham Works.", founded],
  ["Tamsin Orr didn't found Pellham Works.", "Tamsin Orr didn't give up and founded Pellham Works.", founded],
  [
    "Pellham Works has not, in spite of all that the papers wrote, been founded by Tamsin Orr.",
    "Pellham Works, in spite of all that the papers wrote, was founded by Tamsin Orr.",
    founded,
  ],
  [
    "Pellham Works was not, at least in the first and hardest years of its history, directed by Tamsin Orr.",
    "Pellham Works was, at least in the first and hardest years of its history, directed by Tamsin Orr.",
    directed,
  ],
  ["Pellham Works was founded in a hurry, and not by Tamsin Orr.", "Pellham Works was founded by Tamsin Orr, not Ilse Dorn.", founded],
  ["It was not Tamsin Orr who founded Pellham Works.", "Not only did she teach, but Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works cannot have been founded by Tamsin Orr.", "Pellham Works was not founded by Tamsin Orr until 1901.", founded],
  // Never, no, nobody
  ["Pellham Works was never founded by Tamsin Orr.", "Tamsin Orr never gave up and founded Pellham Works.", founded],
  ["Never was Pellham Works directed by Tamsin Orr.", "Pellham Works, which never made a profit, was directed by Tamsin Orr.", directed],
  ["Pellham Works is no longer directed by Tamsin Orr.", "Pellham Works is directed by Tamsin Orr.", directed],
  ["Pellham Works is no longer located in Varno.", "Pellham Works, no longer a secret, is located in Varno.", located],
  ["No workshop of that name is located in Varno.", "Pellham Works is no doubt located in Varno.", located],
  ["Nobody of the name of Pellham Works is located in Varno.", "Nobody knew it, but Pellham Works is located in Varno.", located],
  [
    "Neither Pellham Works nor Harrow Mill is located in Varno.",
    "Both Harrow Mill and Pellham Works thrived; Pellham Works is located in Varno.",
    located,
  ],
  ["There is no evidence that Tamsin Orr founded Pellham Works.", "There is much evidence that Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works is hardly located in Varno.", "Pellham Works is handily located in Varno.", located],
  ["Pellham Works was founded by none of the sisters of Tamsin Orr.", "Pellham Works was founded by none other than Tamsin Orr.", founded],
  // Denied, rejected, refuted
  ["The mayor denied that Tamsin Orr founded Pellham Works.", "The mayor confirmed that Tamsin Orr founded Pellham Works.", founded],
  ["Tamsin Orr denied having founded Pellham Works.", "Tamsin Orr, who denied it for years, founded Pellham Works.", founded],
  ["Tamsin Orr denies that she was born in Varno.", "Tamsin Orr admits that Tamsin Orr was born in Varno.", born],
  [
    "The claim that Tamsin Orr founded Pellham Works was rejected.",
    "The fact that Tamsin Orr founded Pellham Works was celebrated.",
    founded,
  ],
  ["That Tamsin Orr founded Pellham Works is untrue.", "Tamsin Orr founded Pellham Works.", founded],
  ["It is false that Pellham Works is located in Varno.", "It is a fact that Pellham Works is located in Varno.", located],
  [
    "The proposal that Pellham Works be directed by Tamsin Orr was rejected.",
    "The proposal was rejected, but Pellham Works is directed by Tamsin Orr.",
    directed,
  ],
  ["The idea that Tamsin Orr was born in Varno has been debunked.", "The midwife recalls that Tamsin Orr was born in Varno.", born],
  ["Tamsin Orr rejected an offer to found Pellham Works.", "Tamsin Orr rejected the offer and founded Pellham Works.", founded],
  ["Pellham Works was mistakenly said to be located in Varno.", "Pellham Works was moved and is located in Varno.", located],
  // Said, alleged, rumoured, believed
  ["Tamsin Orr is said to have founded Pellham Works.", "Tamsin Orr, it is certain, founded Pellham Works.", founded],
  ["It is said that Pellham Works was founded by Tamsin Orr.", "It is certain that Pellham Works was founded by Tamsin Orr.", founded],
  ["Pellham Works is rumoured to be located in Varno.", "Pellham Works, of which rumours are told, is located in Varno.", located],
  ["Rumour has it that Tamsin Orr was born in Varno.", "Records show that Tamsin Orr was born in Varno.", born],
  ["Allegedly, Tamsin Orr founded Pellham Works.", "Proudly, Tamsin Orr founded Pellham Works.", founded],
  ["Tamsin Orr allegedly founded Pellham Works.", "Tamsin Orr proudly founded Pellham Works.", founded],
  ["Pellham Works was (allegedly) founded by Tamsin Orr.", "Pellham Works was (finally) founded by Tamsin Orr.", founded],
  ["Pellham Works was founded by Tamsin Orr, it is claimed.", "Pellham Works was founded by Tamsin Orr, it is recorded.", founded],
  [
    "Pellham Works is believed to have been founded by Tamsin Orr.",
    "Pellham Works, believed to be a good employer, was founded by Tamsin Orr.",
    founded,
  ],
  ["Some say Tamsin Orr founded Pellham Works.", "All archives say Tamsin Orr founded Pellham Works.", founded],
  ["Tamsin Orr claimed to have founded Pellham Works.", "Tamsin Orr claimed her prize and founded Pellham Works.", founded],
  ["According to legend, Tamsin Orr was born in Varno.", "According to the register, Tamsin Orr was born in Varno.", born],
  ["Tamsin Orr, so we are told, was born in Varno.", "Tamsin Orr, so we can prove, was born in Varno.", born],
  ["Tamsin Orr, as people say, founded Pellham Works.", "Tamsin Orr, as you know, founded Pellham Works.", founded],
  ["Tamsin Orr was reportedly born in Varno.", "Tamsin Orr was indeed born in Varno.", born],
  ["Her rivals suspect that Tamsin Orr was born in Varno.", "Her rivals know that Tamsin Orr was born in Varno.", born],
  // Planned, tried, failed, almost
  [
    "Tamsin Orr planned to found Pellham Works.",
    "Varno, a planned city, is where Pellham Works is located: Pellham Works is located in Varno.",
    located,
  ],
  ["Pellham Works was planned to be located in Varno.", "As planned, Pellham Works is located in Varno.", located],
  ["Tamsin Orr failed to found Pellham Works.", "Tamsin Orr failed her exams but founded Pellham Works.", founded],
  ["Tamsin Orr tried for years to found Pellham Works.", "Tamsin Orr tried for years and finally founded Pellham Works.", founded],
  ["Tamsin Orr almost founded Pellham Works.", "Tamsin Orr, almost a child, founded Pellham Works.", founded],
  ["Tamsin Orr nearly founded Pellham Works.", "Tamsin Orr founded Pellham Works with nearly forty others.", founded],
  ["Tamsin Orr refused to found Pellham Works.", "Tamsin Orr refused all help and founded Pellham Works.", founded],
  ["Tamsin Orr hoped one day to found Pellham Works.", "Tamsin Orr hoped for rain and founded Pellham Works.", founded],
  ["Tamsin Orr considered founding Pellham Works.", "Tamsin Orr, considered a genius, founded Pellham Works.", founded],
  [
    "The plan of her uncle to found Pellham Works with Tamsin Orr was dropped.",
    "The plan was dropped, and Tamsin Orr founded Pellham Works.",
    founded,
  ],
  ["Tamsin Orr was prevented from founding Pellham Works.", "Tamsin Orr kept her word and founded Pellham Works.", founded],
  ["Tamsin Orr came close to founding Pellham Works.", "Tamsin Orr came to town and founded Pellham Works.", founded],
  ["Tamsin Orr was about to found Pellham Works.", "Tamsin Orr, about whom books are written, founded Pellham Works.", founded],
  ["Pellham Works has yet to be located in Varno.", "Pellham Works is as yet located in Varno.", located],
  ["Pellham Works was to be located in Varno.", "Pellham Works was moved to be seen: Pellham Works is located in Varno.", located],
  // Would, might, if, whether
  ["Tamsin Orr would have founded Pellham Works.", "Tamsin Orr would later found the Guild; Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works might be located in Varno.", "Pellham Works, mighty as it is, is located in Varno.", located],
  ["Pellham Works may have been founded by Tamsin Orr.", "In May 1901 Pellham Works was founded by Tamsin Orr.", founded],
  ["Pellham Works could be located in Varno.", "Pellham Works, cold in winter, is located in Varno.", located],
  ["If Pellham Works were located in Varno, it would thrive.", "Pellham Works is located in Varno. If it rains, it leaks.", located],
  ["Had Tamsin Orr founded Pellham Works, it would thrive.", "Tamsin Orr had founded Pellham Works.", founded],
  [
    "Pellham Works thrives only if it is directed by Tamsin Orr.",
    "Pellham Works, directed by Tamsin Orr, closes only if it snows.",
    directed,
  ],
  ["Nobody knows whether Pellham Works is located in Varno.", "Everybody knows that Pellham Works is located in Varno.", located],
  ["Unless Pellham Works is directed by Tamsin Orr, it fails.", "Since Pellham Works is directed by Tamsin Orr, it thrives.", directed],
  ["Perhaps Pellham Works is located in Varno.", "Of course, Pellham Works is located in Varno.", located],
  ["The judges imagine that Tamsin Orr founded Pellham Works.", "The judges found that Tamsin Orr founded Pellham Works.", founded],
  // Questions
  ["Was Pellham Works founded by Tamsin Orr?", "Pellham Works was founded by Tamsin Orr!", founded],
  ["Is Pellham Works located in Varno?", "Where is it? Pellham Works is located in Varno.", located],
  ["Did Tamsin Orr found Pellham Works?", "Who was it? Tamsin Orr founded Pellham Works.", founded],
  ["Who said that Pellham Works is directed by Tamsin Orr?", "Who would not know that. Pellham Works is directed by Tamsin Orr.", directed],
  // What stands in another clause
  [
    "Pellham Works, which was not founded by Tamsin Orr, thrived.",
    "Pellham Works, which did not thrive, was founded by Tamsin Orr.",
    founded,
  ],
  ["Pellham Works, which Tamsin Orr did not found, thrived.", "Pellham Works, which Tamsin Orr founded, did not thrive.", founded],
  [
    "The workshop that never was founded by Tamsin Orr is Pellham Works.",
    "Although it never thrived, Pellham Works was founded by Tamsin Orr.",
    founded,
  ],
  ["Unlike Tamsin Orr, the workshop Pellham Works thrived.", "Unlike Ilse Dorn, Tamsin Orr founded Pellham Works.", founded],
  ["Instead of founding Pellham Works, Tamsin Orr slept.", "Instead of sleeping, Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works did not move and was not directed by Tamsin Orr.", "Pellham Works did not move and is directed by Tamsin Orr.", directed],
  ["Without being located in Varno, Pellham Works thrived.", "Without any help, Pellham Works, located in Varno, thrived.", located],
  // Alternatives
  ["Tamsin Orr or Ilse Dorn founded Pellham Works.", "Tamsin Orr founded Pellham Works, for better or worse.", founded],
  ["Either Ilse Dorn or Tamsin Orr founded Pellham Works.", "Either way, Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works was founded by Ilse Dorn or by Tamsin Orr.", "Pellham Works, a mill or a forge, was founded by Tamsin Orr.", founded],
  ["Pellham Works was founded by Ilse Dorn, Jon Bray or Tamsin Orr.", "Sooner or later, Tamsin Orr founded Pellham Works.", founded],
  ["Pellham Works is located in Kell or Varno.", "Pellham Works is located in Varno, rain or shine.", located],
  ["Tamsin Orr was born in Varno or in Kell.", "More or less by chance Tamsin Orr was born in Varno.", born],
  // Accused, charged, blamed
  ["Tamsin Orr was accused of founding Pellham Works.", "Tamsin Orr was accused of theft, but Tamsin Orr founded Pellham Works.", founded],
  ["Tamsin Orr was accused of secretly founding Pellham Works.", "Tamsin Orr, accused of theft, founded Pellham Works.", founded],
  ["Tamsin Orr was charged with founding Pellham Works.", "Tamsin Orr, charged with energy, founded Pellham Works.", founded],
  ["Tamsin Orr was acquitted of having founded Pellham Works.", "Tamsin Orr was acquitted and founded Pellham Works.", founded],
  ["Tamsin Orr was blamed for founding Pellham Works.", "Tamsin Orr was praised for founding Pellham Works.", founded],
  ["Tamsin Orr was suspected of founding Pellham Works.", "Tamsin Orr suspected nothing and founded Pellham Works.", founded],
  ["Tamsin Orr was cleared of founding Pellham Works.", "Tamsin Orr cleared the land and founded Pellham Works.", founded],
  // Lies, hoaxes, theories, beliefs
  ["Ilse Dorn lied that Tamsin Orr founded Pellham Works.", "The clerk wrote that Tamsin Orr founded Pellham Works.", founded],
  ["Ilse Dorn lies that Tamsin Orr founded Pellham Works.", "The clerk notes that Tamsin Orr founded Pellham Works.", founded],
  ["Ilse Dorn was lying that Tamsin Orr founded Pellham Works.", "The clerk was adding that Tamsin Orr founded Pellham Works.", founded],
  ["Few people believe Tamsin Orr directs Pellham Works.", "All people know that Pellham Works is directed by Tamsin Orr.", directed],
  ["Few people believe that Tamsin Orr was born in Varno.", "All people know that Tamsin Orr was born in Varno.", born],
  ["According to a hoax, Tamsin Orr founded Pellham Works.", "According to a deed, Tamsin Orr founded Pellham Works.", founded],
  [
    "According to an unconfirmed report, Tamsin Orr founded Pellham Works.",
    "According to an official report, Tamsin Orr founded Pellham Works.",
    founded,
  ],
  ["According to unverified sources, Tamsin Orr was born in Varno.", "According to church records, Tamsin Orr was born in Varno.", born],
  ["The theory says that Tamsin Orr founded Pellham Works.", "The chronicle says that Tamsin Orr founded Pellham Works.", founded],
  ["One theory holds that Pellham Works is located in Varno.", "The map shows that Pellham Works is located in Varno.", located],
  ["The legend says Tamsin Orr founded Pellham Works.", "The chronicle says Tamsin Orr founded Pellham Works.", founded],
  // Near, not in
  ["Pellham Works is located near Varno.", "Pellham Works, near the river, is located in Varno.", located],
  ["Pellham Works is located 40 km from Varno.", "Pellham Works, 40 km from the sea, is located in Varno.", located],
  ["Pellham Works is located north of Varno.", "Pellham Works is located in Varno, north of the river.", located],
  ["Pellham Works is located outside Varno.", "Outside the season, too, Pellham Works is located in Varno.", located],
  ["Pellham Works is located close to Varno.", "Close to the river, Pellham Works is located in Varno.", located],
  ["Tamsin Orr was born not far from Varno.", "Tamsin Orr was born far from home in Varno.", born],
  ["Tamsin Orr was born between Kell and Varno.", "Tamsin Orr was born between two storms in Varno.", born],
]

describe("a sentence that denies, hedges or asks", () => {
  it("is tried in at least a hundred forms", () => assert.isAtLeast(new Set(pairs.map(([nothing]) => nothing)).size, 100))

  for (const [nothing, something, fact] of pairs) {
    it.effect(`states nothing: ${nothing}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* factsOf(nothing), [])
      }),
    )
    it.effect(`but its neighbour states a fact: ${something}`, () =>
      Effect.gen(function* () {
        const facts = yield* factsOf(something)
        assert.include(facts, fact)
        assert.isFalse(facts.some((one) => one.includes("Ilse Dorn")))
      }),
    )
  }
})
