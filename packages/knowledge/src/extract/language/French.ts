/** The words and forms of French. */

import { wordSet } from "../../text/Words.ts"
import { type ProseLanguage, readCompanions, unmarked, withoutEnding } from "./ProseLanguage.ts"

const endings =
  "atrices atrice ateurs ateur ations ation ements ement aient erent euses euse eurs eur trices trice ants ant ees ent ait ees ee es er ez ai as e a s"
    .split(" ")
    .sort((one, other) => other.length - one.length)

/** "fondé", "fonda", "fondatrice" and "fondation" are all "fond". */
const stem = (word: string): string => withoutEnding(unmarked(word.replace(/^(?:l|d|s|n|qu|j|c)['’]/u, "")), endings, 3)

export const french: ProseLanguage = {
  tag: "fr",
  definite: wordSet("le la les l ce cet cette ces"),
  indefinite: wordSet("un une des"),
  pronouns: wordSet("il elle ils elles celui-ci celle-ci"),
  possessives: wordSet("son sa ses leur leurs"),
  copulas: wordSet("est était fut sont étaient reste s'élève s'élevait atteint trouve situe"),
  passives: wordSet("est était fut sont étaient furent été"),
  perfects: wordSet("a ont avait avaient eut"),
  having: wordSet("a ont avait compte comptait possède possédait emploie employait"),
  agents: wordSet("par"),
  places: wordSet("à au aux en dans"),
  genitives: wordSet("de du des d"),
  prepositions: wordSet("pour avec sans sur sous chez vers depuis pendant entre contre après avant selon dès jusque jusqu"),
  conjunctions: wordSet("et ou mais puis donc car"),
  alternatives: wordSet("ou soit"),
  limits: wordSet("avant après près km kilomètres kilomètre loin nord sud ouest hors entre proximité environs alentours"),
  persons:
    wordSet(`veuve veuf frère sœur soeur mère père parents fils fille enfant enfants grand-mère grand-père tante oncle neveu nièce cousin
    cousine ami amie amis collègue voisin voisine avocat avocate héritier héritière famille beau-frère belle-sœur élève assistant assistante
    secrétaire biographe`),
  companions: readCompanions(`
travaille travaillait travaillent travailla travaillé: pour chez
marié mariée mariés: à avec
appartient appartenait appartiennent: à au`),
  genders: new Map([
    ["il", "male"],
    ["elle", "female"],
  ]),
  relatives: wordSet("qui que dont où lequel laquelle"),
  others: wordSet(
    `y se s ne n pas plus moins très aussi alors ainsi ici là aujourd'hui environ près comme quand tout tous toute toutes plusieurs
    notamment également ensuite enfin d'abord actuellement désormais on nous vous je tu lui eux même mêmes autre autres premier première
    deux trois été l'on c'est hier demain autrefois peu beaucoup certains`,
  ),
  connectors: wordSet("de du des la le les d l"),
  negations: wordSet(
    `ne n pas jamais aucun aucune ni sans si presque peut-être probablement éventuellement serait seraient aurait auraient pourrait
    devrait prétendument prévoit prévoient prévu nie nié nia démenti dément envisage sinon guère personne rien
    accusé accusée accusés accusées inculpé inculpée soupçonné soupçonnée acquitté acquittée menti ment mentait mensonge croient croit
    croyait prétend prétendent prétendait canular théorie hypothèse légende rumeur`,
  ),
  hedges:
    /(?<!\p{L})(?:on dit que|il paraît|selon la rumeur|à peine|a failli|soi-disant|doit être|doit ouvrir|non confirmée?s?|peu de gens)(?!\p{L})/iu,
  commonNouns: wordSet("monsieur madame"),
  titles: wordSet("m mme mlle dr monsieur madame professeur docteur saint"),
  abstractEndings: /(?!)/u,
  capitalNouns: false,
  dateWords: wordSet("date année jour an quand"),
  placeWords: wordSet("lieu endroit emplacement"),
  numberWords: wordSet("nombre effectif taille hauteur longueur superficie prix poids durée population chiffre"),
  scales: { mille: 3, million: 6, millions: 6, milliard: 9, milliards: 9 },
  synonyms: `
écrire écrit écrite écrivit auteur autrice auteure écrivain écrivaine rédigé rédigée
fonder fondé fondée fonda fondateur fondatrice fondation
créer créé créée créa créateur créatrice création
découvrir découvert découverte découvrit découvreur découvreuse
inventer inventé inventée inventa inventeur inventrice invention
naissance né née naquit
mort décès décédé décédée mourut morte
diriger dirige dirigé dirigée dirigea directeur directrice direction dirigeant dirigeante
siège basé basée installé installée
situation situé située localisation lieu trouve
habitants habitant population
employer emploie emploient employés salariés salarié effectif
publier publié publiée publia publication paru parue parut sorti sortie
éditeur éditrice édité éditée maison
réaliser réalisé réalisée réalisa réalisateur réalisatrice réalisation
produire produit produite produisit producteur productrice fabricant fabriqué fabriquée
concevoir conçu conçue conçut architecte concepteur conceptrice dessiné dessinée
construire construit construite construction bâti bâtie
épouser épouse épousa marié mariée conjoint conjointe mari femme
posséder possède propriétaire appartient détient
membre membres
capitale
langue parle parlée
prix récompense reçu reçut obtenu remporté remporta
composer composé composée composa compositeur compositrice composition
ouvrir ouvert ouverte ouvrit ouverture inauguré inaugurée inauguration
étudier étudia étudié études
traduire traduit traduite traduisit traducteur traductrice traduction
travailler travaille travaillait travaillent travaillé employeur
habiter habite habitait habitent réside résidait vit vivait résidence domicile demeure`,
  stem,
  form: (word) => {
    if (/(?:ateur|atrice|eur|euse|trice|iste|aire|ien|ienne)s?$/u.test(word)) return "agent"
    if (/(?:é|ée|és|ées|i|ie|is|ies|u|ue|us|ues|it|ite|ites|ert|erte)$/u.test(word)) return "participle"
    return /(?:a|it|ut|èrent|e|ent)$/u.test(word) ? "finite" : "other"
  },
  parts: (word) => [word],
}
