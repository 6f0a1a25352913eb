/**
 * The most frequent small words of languages in Latin script, and the letters and endings that few others share. They tell a language
 * from a sentence or two; a word that several languages have counts less for each.
 */

/** By language tag. */
export const commonWords: Readonly<Record<string, string>> = {
  en: `the of and to in is was for on that by with as are were be this from at it an his her its they which or had has have not but
    their been who he she also when into after first other more than there would about these two between`,
  de: `der die das und ist war wurde von den dem des ein eine einer einem einen im am zu zum zur mit auf für als auch sich nicht aus bei
    nach wird werden sind hat haben es er sie durch über vom bis oder sowie seit unter vor ihre ihr seine sein waren wurden dass zwischen`,
  fr: `le la les de des du et est était fut un une dans par pour sur avec au aux ce cette ces qui que il elle ils elles en son sa ses leur
    leurs été ont sont plus ne pas comme entre où depuis selon mais d'un d'une l'un c'est dont à`,
  es: `el la los las de del y es fue era un una en por para con se su sus que al lo como más pero está son han ha sido también desde
    entre hasta sobre este esta estos estas donde cuando muy fueron según sin tiene nació`,
  nl: `de het een en van is was werd in op te met voor door zijn haar hun die dat aan bij als ook niet uit naar om tot heeft hebben
    worden wordt over onder tussen deze dit er maar of nog waar opgericht na`,
  it: `il lo la gli le di del della dei delle dello degli e è era fu un una uno in nel nella per con su da dal dalla che si non sono
    come anche più suo sua stato stata al alla ha hanno tra fra questo questa dopo`,
  pt: `o a os as de do da dos das e é foi era um uma em no na nos nas por para com se seu sua que ao não mais como também são foram
    tem entre até sobre pelo pela este esta ela ele após`,
  sv: `och att det som en ett är var av för på med i den till har de inte om från han hon sin sitt sina efter blev vid också eller när
    mellan under år grundades`,
  da: `og at det som en et er var af for på med i den til har de ikke om fra han hun sin sit sine efter blev ved også eller når mellem
    under år blev`,
  no: `og å det som en et er var av for på med i den til har de ikke om fra han hun sin sitt sine etter ble ved også eller når mellom
    under år ble`,
  fi: `ja on oli ei se hän että joka ovat olivat mutta myös kun kuin tai sekä vuonna hänen sen mukaan jälkeen ensimmäinen`,
  pl: `i w na z do się jest był była było przez dla od po oraz który która które jako nie to że są został została roku o jego jej`,
  cs: `a v na se je byl byla bylo z do že pro od po který která které jako ne to jsou roku jeho její také nebo ve s k`,
  sk: `a v na sa je bol bola bolo z do že pre od po ktorý ktorá ktoré ako nie to sú roku jeho jej tiež alebo vo s k`,
  hu: `a az és egy is hogy nem volt meg van ez azt mint de csak már még vagy között után által évben lett`,
  ro: `și de la în cu pe un o este a fost care din pentru sau mai nu au sunt prin lui ei după între al ale`,
  tr: `ve bir bu ile için olarak olan da de tarafından daha çok sonra en gibi ancak yılında kadar olduğu ise`,
  ca: `el la els les de del dels i és va ser un una en per amb que es al com més però són han ha estat també des entre fins sobre aquest
    aquesta seva seu`,
  id: `yang dan di dari untuk dengan ini itu pada adalah dalam tidak ke oleh sebagai akan juga telah atau tahun`,
  vi: `và của là có được trong cho một các với không người này đã từ những để năm tại`,
}

/** Letters that hint at a language, each as a small part of a word's weight. */
export const hintingLetters: Readonly<Record<string, string>> = {
  de: "äöüß",
  fr: "éèêàçùœîôû",
  es: "ñáíóúé¿¡",
  it: "àèìòù",
  pt: "ãõçáéêó",
  sv: "åäö",
  da: "æøå",
  no: "æøå",
  fi: "äö",
  pl: "ąćęłńśźż",
  cs: "ěščřžýů",
  sk: "ľĺŕôčšž",
  hu: "őűáéö",
  ro: "ăâîșț",
  tr: "ğışç",
  ca: "çàèòï",
  vi: "ăâđêôơưạảấầẩậắằặẹẻếềểệịọỏốồổộớờởợụủứừửựỳỵ",
}

/** Endings of long words. */
export const hintingEndings: Readonly<Record<string, string>> = {
  en: "ing tion ment ness ship ed ly ght",
  de: "ung ungen keit heit lich isch schaft chen gen ter tum",
  fr: "eur euse tion ment aire elle eaux ette iste ique",
  es: "ción dad miento ado ada dor dora ero era ario",
  nl: "ing heid lijk isch aar ijk eren",
  it: "zione mento tore trice ità ario aria",
  pt: "ção dade mento dor dora ário eiro",
}
