/**
 * Groups of words that can express the same relation: the verb of a text, the noun of a label, and near synonyms of both. An
 * ontology has "employer", a text "works for". General English, not that of a particular domain.
 */
import { stem } from "./Stem.ts"

const groups = `
write author writer pen novelist poet playwright essayist
compose composer score music songwriter
lyric lyricist words songwriter
create creator make maker invent inventor devise originate conceive develop
design designer architect engineer plan develop
develop developer build builder program programmer author
produce producer production manufacture manufacturer maker
construct construction build builder erect
found founder establish start launch form initiate
direct director filmmaker helm
edit editor compile
illustrate illustrator draw drawn artist picture paint painter
publish publisher publication release issue print launch
translate translator translation
perform performer performance sing singer record play musician artist
star cast actor actress feature play portray appear
character role protagonist hero heroine feature
narrate narrator tell story
adapt adaptation base inspire derive
depict describe portray show subject topic theme concern deal story
film shoot shot location
broadcast air network channel
exhibit exhibition display museum
birth born birthplace native
death die dead kill
bury burial grave cemetery
marry marriage spouse husband wife wed
parent father mother
child children son daughter
sibling brother sister
educate education study attend graduate school university student degree
teach teacher professor lecturer instruct
employ employer employee work hire staff
occupation profession job work career
nationality citizen citizenship national
reside residence live home settle
member membership belong join part
part component include contain section belong
own owner acquire acquisition buy purchase possess
subsidiary division branch
head lead leader chief chair president preside manage manager executive
headquarter base seat office
locate location situate lie place site set
venue stadium arena ground hall hold
merge merger combine
fund invest investor sponsor finance
supply supplier provide provider deliver
customer client
partner cooperate collaborate collaborator
compete competitor rival
nominate nomination nominee shortlist
award prize win winner receive honor honour medal
elect election vote
appoint appointment
coach trainer train manage manager
team club side squad
league division championship
tournament competition contest championship event
season edition
sport game
fight battle war campaign conflict
command commander lead
rank promote promotion title
serve service join enlist
casualty death kill wound die
date day year time
begin start commence open inaugurate
end finish close conclude
follow sequel successor succeed next
precede predecessor prequel previous
replace supersede
happen occur take
run operate operating
platform system support run port
use utilize employ apply
implement implementation
license licence
version edition
language speak spoken written
influence inspire affect
name call title known
format medium available
processor chip
price cost budget spend
discover discoverer discovery find identify
treat treatment therapy cure
cause lead result
symptom sign
diagnose diagnosis
contain ingredient consist
species genus family
capital city
border neighbour neighbor adjoin
flow river tributary
population inhabitant people
area region territory
revenue income earn profit sales
arrest convict charge sentence
type kind genre style category class
dedicate dedication honor
designate designation declare classify list
own possess hold holder
sign contract
move transfer
visit travel
lyric write songwriter text
compose write composer songwriter
port platform console computer version
record label release sign
play footballer player striker midfielder defender goalkeeper forward captain
office position hold serve post minister governor mayor senator president chancellor ambassador secretary
party politician politics
candidate candidacy run nominee
constituency district represent representative
launch rocket liftoff carry vehicle
crew astronaut cosmonaut fly pilot mission
orbit satellite planet moon
habitat native endemic occur inhabit live range found
mouth empty flow drain join
basin drain watershed
summit peak mountain range elevation high rise
genus species family taxon order belong
religion faith church worship denomination
ethnic people group
alphabet script write writing
dialect language speak
industry sector business field
product make manufacture sell
parent own subsidiary owner
alma mater graduate study attend educate
degree thesis doctor doctorate advisor supervise
successor succeed follow replace
architect architecture design build
floor storey story tall
runway airport serve
operator operate run
ingredient contain make serve dish
origin come originate
chairman chair head lead
dean rector president head
engine power drive motor
assembly assemble build plant
length long
height high tall
width wide
weight weigh heavy
depth deep
age old
diameter wide across
crosses cross span bridge
tenant occupy house home
maintain maintenance manage
currency money
anthem song
patron saint
twin sister partner
debut premiere open first
voice dub star
`

/** Reads groups of words, one group per line. Returns for each stem the stems that share a group with it. */
export const readGroups = (lines: string, stemOf: (word: string) => string): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  for (const line of lines.trim().split("\n")) {
    const stems = [...new Set(line.trim().split(" ").map(stemOf))]
    for (const one of stems) found.set(one, new Set([...(found.get(one) ?? []), ...stems.filter((other) => other !== one)]))
  }
  return found
}

const synonyms = readGroups(groups, stem)

/** The stems that share a group with a stem. */
export const relatedStems = (stemmed: string): ReadonlySet<string> => synonyms.get(stemmed) ?? none

const none: ReadonlySet<string> = new Set()
