/** The words and forms of German. */

import { wordSet } from "../../text/Words.ts"
import { type ProseLanguage, readCompanions, unmarked, withoutEnding } from "./ProseLanguage.ts"

const endings = "erinnen ungen innen erin ung ete eten etet test tet ten ern ers est end em en er es et te st in e t s n"
  .split(" ")
  .sort((one, other) => other.length - one.length)

/** "gegründet", "gründete", "Gründerin" and "Gründung" are all "grund". */
const stem = (word: string): string => {
  const plain = unmarked(word)
  const participle = /^(?:ge|(an|auf|aus|ein|ab|vor|her|zu|um|mit|nach|be|ent|er|ver|zer)ge)(.{3,}?)(?:e?t|en)$/.exec(plain)
  const base = participle === null ? plain : `${participle[1] ?? ""}${participle[2]}`
  return withoutEnding(base, endings, 3)
}

const kinds = wordSet("datum jahr tag zeitpunkt ort stätte land stadt zahl anzahl name nummer")

export const german: ProseLanguage = {
  tag: "de",
  definite: wordSet("der die das dem den des dieser diese dieses diesem diesen"),
  indefinite: wordSet("ein eine einen einem einer eines"),
  pronouns: wordSet("er sie es dieser diese dieses"),
  possessives: wordSet("sein seine seinen seinem seiner seines ihr ihre ihren ihrem ihrer ihres dessen deren"),
  copulas: wordSet("ist war sind waren heißt hieß heissen bleibt beträgt betrug lautet lautete liegt lag befindet"),
  passives: wordSet("wurde wurden wird werden worden"),
  perfects: wordSet("hat haben hatte hatten"),
  having: wordSet("hat haben hatte hatten besitzt besaß zählt zählte umfasst"),
  agents: wordSet("von vom durch"),
  places: wordSet("in im aus bei nahe"),
  genitives: wordSet("von vom der des dessen deren"),
  prepositions: wordSet(
    "mit nach seit zu zum zur für über unter auf an am um gegen ohne ab bis vor zwischen während wegen trotz hinter neben laut per pro beim ins ans aufs",
  ),
  conjunctions: wordSet("und oder aber sowie sondern denn doch"),
  alternatives: wordSet("oder entweder"),
  limits: wordSet(`vor nach nahe bei unweit nähe umgebung km kilometer außerhalb nördlich südlich östlich westlich nordwestlich nordöstlich
    südwestlich südöstlich zwischen`),
  persons:
    wordSet(`witwe witwer bruder schwester mutter vater eltern sohn tochter kinder kind enkel enkelin großmutter großvater tante onkel
    neffe nichte cousin cousine vetter freund freundin freunde kollege kollegin nachbar nachbarin anwalt anwältin erbe erbin erben familie
    schwager schwägerin schüler schülerin assistent assistentin mitarbeiter mitarbeiterin sekretär sekretärin biograf biografin firma`),
  companions: readCompanions(`
arbeitet arbeitete arbeiten arbeiteten gearbeitet: für bei
angestellt: bei
verheiratet: mit
gehört gehörte gehören gehörten:`),
  genders: new Map([
    ["er", "male"],
    ["sie", "female"],
  ]),
  relatives: wordSet("der die das dem den deren dessen welche welcher welches"),
  others: wordSet(
    `auch noch schon sich hier dort dann heute bereits etwa rund circa ca knapp insgesamt zudem außerdem später zuletzt zunächst damals
    jedoch daher dabei damit darüber als wie was wer wo wann man wir ich du ihr alle viele mehrere einige mehr sehr so zwei drei erst
    erste ersten erster erstmals heutige heutigen jetzt neben seitdem danach davor ihnen ihm ihn uns zu gemeinsam zusammen derzeit aktuell ursprünglich anschließend schließlich daraufhin mittlerweile inzwischen
    gestern morgen einst früher wenige manche gegenwärtig anfangs offiziell zuvor nun ebenfalls nachdem weil da`,
  ),
  connectors: wordSet("&"),
  negations: wordSet(
    `nicht kein keine keinen keinem keiner keines nie niemals niemand nirgends weder ohne kaum ob falls wenn soll sollen sollte sollten
    angeblich vermutlich möglicherweise vielleicht wohl mutmaßlich fast beinahe wäre würde hätte könnte dürfte plant planen geplant
    bestreitet bestritt dementiert dementierte leugnet leugnete
    beschuldigt beschuldigte bezichtigt angeklagt verdächtigt verdächtigte freigesprochen vorgeworfen log lügt logen gelogen lüge glauben
    glaubt glaubte glaubten behauptet behauptete behaupten vermutet vermuten unbestätigt unbestätigte unbestätigten unbestätigter
    unbestätigtem theorie these legende gerücht falschmeldung schwindel`,
  ),
  hedges: /\b(?:es heißt|nach eigenen angaben|gerüchten|gerüchte|den anschein|beabsichtig\w*|in aussicht)(?![\p{L}])/iu,
  commonNouns: wordSet(
    `jahr jahre jahren jahres monat monate monaten tag tage tagen ende anfang beginn mitte zeit rahmen auftrag prozent euro dollar
    million millionen milliarde milliarden mitarbeiter mitarbeitern menschen leute anteil anteile teil teile hilfe betrieb besitz
    jahrhundert woche wochen uhr kilometer meter quadratkilometer hektar tonnen stück art weise grund folge erfolg zusammenarbeit person
    personen brüder geschwister haus leben welt nähe umgebung umland meldung bericht theorie`,
  ),
  titles: wordSet(
    `herr frau dr prof professor professorin doktor ingenieur ingenieurin stadt gemeinde dorf ort firma unternehmer unternehmerin
    schriftsteller schriftstellerin architekt architektin künstler künstlerin maler malerin könig königin graf gräfin bürgermeister
    bürgermeisterin physiker physikerin chemiker chemikerin verlag`,
  ),
  abstractEndings: /(?:ung|ungen|heit|keit|schaft|tion|tät|arbeit|nis)$/u,
  capitalNouns: true,
  dateWords: wordSet("datum jahr tag zeitpunkt geburtstag todestag am wann"),
  placeWords: wordSet("ort stätte platz lage"),
  numberWords: wordSet("zahl anzahl höhe länge fläche umsatz preis gewicht größe einwohner alter dauer"),
  scales: { tausend: 3, million: 6, millionen: 6, mio: 6, milliarde: 9, milliarden: 9, mrd: 9 },
  synonyms: `
schreiben schrieb geschrieben autor autorin verfasser verfasserin verfasst verfasste schriftsteller
gründen gründete gegründet gründer gründerin gründung
entdecken entdeckte entdeckt entdecker entdeckerin entdeckung
erfinden erfand erfunden erfinder erfinderin erfindung
geburt geboren gebürtig
tod gestorben starb verstorben sterben
leiten leitet leitete geleitet leiter leiterin leitung geschäftsführer geschäftsführerin chef chefin vorsitz vorsitzende vorsitzender direktor direktorin führt geführt
sitz hauptsitz firmensitz zentrale ansässig
lage liegt gelegen befindet standort ort
einwohner einwohnerzahl bevölkerung
mitarbeiter mitarbeiterzahl beschäftigt beschäftigte beschäftigten angestellte personal
veröffentlichen veröffentlicht veröffentlichung erschien erschienen erscheint erscheinung herausgegeben publiziert
verlag verleger herausgeber verlegt
regie regisseur regisseurin inszeniert inszenierte gedreht
produzieren produziert produzierte produzent produzentin hersteller hergestellt herstellt
entwerfen entwarf entworfen architekt architektin designer designerin entwurf
bauen baute gebaut erbaut erbaute errichtet errichtete bau
heiraten heiratete verheiratet ehepartner ehepartnerin ehefrau ehemann
besitzen besitzt besaß besitzer besitzerin eigentümer eigentümerin inhaber inhaberin gehört gehörte
mitglied mitglieder angehört angehörte
hauptstadt
sprache spricht gesprochen
auszeichnung preis erhielt ausgezeichnet gewann
komponieren komponierte komponiert komponist komponistin
eröffnen eröffnete eröffnet eröffnung
umsatz erlös
studieren studierte studiert studium
übersetzen übersetzte übersetzt übersetzer übersetzerin
arbeiten arbeitet arbeitete gearbeitet arbeitgeber arbeitgeberin angestellt
wohn wohnen wohnt wohnte wohnhaft wohnort wohnsitz lebt lebte residiert`,
  stem,
  form: (word) => {
    if (
      /^(?:ge|(?:an|auf|aus|ein|ab|vor|her|zu|um|mit|nach)ge)\p{L}{3,}(?:t|en)$/u.test(word) ||
      /^(?:be|ent|er|ver|zer)\p{L}{2,}(?:t|en|en)$/u.test(word) ||
      /iert$/u.test(word)
    )
      return "participle"
    if (/\p{L}{3}(?:er|erin|or|orin|ent|entin|ist|istin|eur|eurin)$/u.test(word)) return "agent"
    return /(?:te|ten|t|et)$/u.test(word) ? "finite" : "other"
  },
  // "Gründungsjahr" has the parts "Gründung" and "Jahr".
  parts: (word) => {
    const kind = [...kinds].find((one) => word.length > one.length + 3 && word.endsWith(one))
    return kind === undefined ? [word] : [word.slice(0, -kind.length).replace(/(?<=\p{L}{4})s$/u, ""), kind]
  },
}
