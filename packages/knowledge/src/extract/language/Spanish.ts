/** The words and forms of Spanish. */

import { wordSet } from "../../text/Words.ts"
import { type ProseLanguage, readCompanions, unmarked, withoutEnding } from "./ProseLanguage.ts"

const endings =
  "adoras adores adora ador aciones acion imientos imiento amiento idores idoras idora idor ieron aron iendo ando adas ados ada ado idas idos ida ido aba ian ia io an en ar er ir as os es a o e s"
    .split(" ")
    .sort((one, other) => other.length - one.length)

/** "fundó", "fundada", "fundadora" and "fundación" are all "fund". */
const stem = (word: string): string => withoutEnding(unmarked(word), endings, 3)

export const spanish: ProseLanguage = {
  tag: "es",
  definite: wordSet("el la los las lo este esta estos estas dicho dicha"),
  indefinite: wordSet("un una unos unas"),
  pronouns: wordSet("él ella ellos ellas éste ésta"),
  possessives: wordSet("su sus"),
  copulas: wordSet("es era fue son eran está estaba asciende ascendía encuentra sitúa"),
  passives: wordSet("fue fueron es son era eran sido siendo"),
  perfects: wordSet("ha han había habían hubo"),
  having: wordSet("tiene tenía posee poseía cuenta contaba emplea empleaba"),
  agents: wordSet("por"),
  places: wordSet("en"),
  genitives: wordSet("de del"),
  prepositions: wordSet("a al con sin para sobre bajo desde hasta entre contra hacia según durante tras ante mediante"),
  conjunctions: wordSet("y e o u pero sino"),
  alternatives: wordSet("o u"),
  limits: wordSet("antes después tras cerca km kilómetros kilómetro lejos norte sur oeste fuera entre cercanías afueras alrededores"),
  persons:
    wordSet(`viuda viudo hermano hermana hermanos madre padre padres hijo hija hijos nieto nieta abuelo abuela tío tía sobrino sobrina
    primo prima amigo amiga amigos colega vecino vecina abogado abogada heredero heredera familia cuñado cuñada alumno alumna asistente
    secretario secretaria biógrafo biógrafa`),
  companions: readCompanions(`
trabaja trabajaba trabajan trabajó trabajado: para
casado casada casados casó: con
pertenece pertenecía pertenecen: a al`),
  genders: new Map([
    ["él", "male"],
    ["ella", "female"],
  ]),
  relatives: wordSet("que quien quienes cuyo cuya cual donde"),
  others: wordSet(
    `se me te nos le les lo muy más menos también ya aún todavía así aquí allí hoy ayer cuando como todo todos toda todas varios varias
    además luego después antes actualmente entonces mismo misma otro otra otros otras primer primera dos tres unos cerca aproximadamente
    alrededor unas yo tú nosotros usted ustedes mañana antaño pocos pocas muchos muchas algunos algunas`,
  ),
  connectors: wordSet("de del la las los el"),
  negations: wordSet(
    `no nunca jamás tampoco ni ningún ninguna ninguno nadie nada sin casi quizá quizás tal si apenas presuntamente supuestamente
    posiblemente probablemente podría podrían habría habrían sería serían debería negó niega niegan desmintió desmiente planea planean
    prevé prevén
    acusado acusada acusados acusadas imputado imputada sospechoso sospechosa absuelto absuelta mintió miente mentira creen cree creía
    bulo teoría hipótesis leyenda rumor rumores`,
  ),
  hedges: /(?<!\p{L})(?:se dice que|se cree que|según rumores|al parecer|a punto de|tal vez|está previsto|tiene previsto)(?!\p{L})/iu,
  commonNouns: wordSet("señor señora don doña"),
  titles: wordSet("sr sra dr dra don doña señor señora profesor profesora"),
  abstractEndings: /(?!)/u,
  capitalNouns: false,
  dateWords: wordSet("fecha año día cuándo"),
  placeWords: wordSet("lugar sitio ubicación"),
  numberWords: wordSet("número cantidad tamaño altura longitud superficie precio peso duración población plantilla"),
  scales: { mil: 3, millón: 6, millon: 6, millones: 6 },
  synonyms: `
escribir escribió escrito escrita autor autora escritor escritora
fundar fundó fundado fundada fundador fundadora fundación
crear creó creado creada creador creadora creación
descubrir descubrió descubierto descubierta descubridor descubridora descubrimiento
inventar inventó inventado inventada inventor inventora invención
nacimiento nació nacido nacida nacer
muerte murió fallecido fallecida falleció fallecimiento muerto muerta
dirigir dirige dirigió dirigido dirigida director directora dirección
sede radicado radicada basado basada
ubicación situado situada ubicado ubicada localización lugar encuentra
habitantes habitante población
emplear emplea empleados empleado trabajadores trabajador plantilla
publicar publicó publicado publicada publicación apareció salió
editorial editor editora editado editada
realizador realizadora rodado rodada rodó
producir produce produjo producido producida productor productora fabricante fabricado fabricada
diseñar diseñó diseñado diseñada arquitecto arquitecta diseñador diseñadora
construir construyó construido construida construcción edificado edificada
casar casado casada casó cónyuge esposa esposo marido mujer
poseer posee propietario propietaria dueño dueña pertenece
miembro miembros
capital
idioma lengua habla hablado
premio galardón recibió ganó galardonado
componer compuso compuesto compuesta compositor compositora composición
abrir abrió abierto abierta inauguró inaugurado inaugurada inauguración apertura
estudiar estudió estudios
traducir tradujo traducido traducida traductor traductora traducción
trabajar trabaja trabajaba trabajan trabajó empleador empleadora
residir reside residía residen vive vivía viven vivir residencia domicilio`,
  stem,
  form: (word) => {
    if (/(?:dor|dora|dores|doras|tor|tora|tores|ista|istas|ero|era|ario|aria|ueño|ueña)$/u.test(word)) return "agent"
    if (/(?:ado|ada|ados|adas|ido|ida|idos|idas|to|ta|tos|tas)$/u.test(word)) return "participle"
    return /(?:ó|ió|jo|so|aron|ieron|e|a)$/u.test(word) ? "finite" : "other"
  },
  parts: (word) => [word],
}
