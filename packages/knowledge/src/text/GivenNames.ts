/**
 * Common given names of English, German, French and Spanish, with the gender that they tell. Names that both women and men
 * bear (Andrea, Kim, Dominique, Robin) are left out: an unknown gender costs a fact, a wrong one gives a wrong fact.
 */
import { wordSet } from "./Words.ts"

export type Gender = "female" | "male"

const female = wordSet(`
  ada adela adriana agatha agnes alice alicia alison amanda amelia amy ana anastasia angela angelika anita ann anna anne annette
  antonia astrid audrey barbara beatrice beatriz bertha birgit brigitte bridget carla carlotta carmen carol carolina caroline catherine
  cécile celia charlotte chiara christa christiane christina christine clara claire clarissa claudia constance cornelia cristina
  daniela deborah denise diana dolores dora doris dorothea dorothy edith eleanor elena eleonora elisa elisabeth elise elizabeth ella
  ellen elsa elvira emilia emily emma erika esther eva eve evelyn fiona françoise frida friederike gabriela 
  geneviève gerda gertrud gisela gloria grace greta hanna hannah heidi heike helen helena hélène helga henrietta hilda ida ilse
  inés inga ingrid irene iris isabel isabella isabelle jacqueline jane janet jennifer jessica joan joanna johanna josephine juana
  judith julia juliana julie juliette karin karla katharina kate katherine kathleen katrin laura léa lena leonor lila lily lina linda
  lisa louise lucía lucie lucy luisa luise lydia magdalena maja manuela margaret margarete margarita marguerite maría maria marianne
  marie marina marlene marta martha martina mary mathilde matilda mercedes mia michelle miriam mona monica monika nadia
  nadine nancy natalia natalie nicole nina nora odette olga olivia patricia paula pauline petra pilar rachel raquel rebecca regina
  renate rita rosa rosalie rose rosemary ruth sabine sandra sara sarah silvia simone sofía sofia sonia sophia sophie stefanie stella
  stephanie susan susana susanne sylvia sylvie teresa theresa tina ulrike ursula valentina valeria vera verena veronica victoria
  viktoria virginia viviane waltraud wendy yolanda yvonne zoé`)

const male = wordSet(`
  adam adolf adrian alain alan albert alberto alejandro alessandro alexander alexandre alfonso alfred alfredo andreas andrés andrew
  anthony antoine anton antonio armin arnold arthur arturo august axel benedikt benjamin bernard bernd bernhard bertrand bruno
  carl carlos charles christian christoph christophe christopher claus clemens conrad damien daniel david denis dennis didier
  diego dieter dietrich dirk donald douglas eberhard edgar edmund eduardo edward emil émile emilio emmanuel enrique eric erich erik
  ernest ernesto ernst étienne eugen eugene fabian federico felipe felix ferdinand fernando florian françois francisco frank franz
  frederick friedrich fritz gabriel georg george georges gerald gerard gérard gerhard gilbert gonzalo gregory guido guillaume guillermo
  günter günther gustav gustave guy hans harald harold harry heinrich heinz helmut henri henry herbert hermann horst howard hubert
  hugo ignacio isaac jack jacob jacques jaime jakob james javier jerome jérôme jim joachim joaquín johann johannes john jonas
  jonathan jorge josé josef joseph juan jules julian julien jürgen karl kenneth klaus konrad kurt lars laurent lawrence léon leonard
  leonardo leopold lorenzo lothar louis luc lucas ludwig luis lukas manfred manuel marc marcel marco marcos mark markus martin
  mateo mathieu matthew matthias maurice max maximilian michael michel miguel moritz nathan nicolas niklas norbert olaf oliver
  olivier oscar oskar otto pablo pascal patrick paul pedro peter philip philipp philippe pierre rafael rainer ralf ralph ramón
  raoul raymond reinhard rené ricardo richard robert roberto rodrigo roger roland rolf ronald rudolf rüdiger rupert salvador samuel
  santiago sebastian sébastien sergio siegfried simon stefan stephan stephen steven sven theodor théo thierry thomas tim timothy tobias
  tom tomás ulrich uwe victor viktor vincent volker walter werner wilhelm willem william wolf wolfgang xavier yves`)

export const givenNames: ReadonlyMap<string, Gender> = new Map([
  ...[...female].map((name) => [name, "female"] as const),
  ...[...male].map((name) => [name, "male"] as const),
])
