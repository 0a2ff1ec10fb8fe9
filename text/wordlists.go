package text

import (
	"strings"
	"sync"
)

// The lists are one for all languages, because posts often do not say theirs, or mix them. So a list leaves out
// what is a word elsewhere.

// abbreviations maps each abbreviation to its class. A word that stands in several lists has the first one's.
var abbreviations = sync.OnceValue(func() map[string]abbreviation {
	m := make(map[string]abbreviation)
	for _, list := range []struct {
		class abbreviation
		words string
	}{{timeOfDay, "a.m p.m"}, {title, titles}, {proper, propers}, {final, finals}, {inner, inners}, {numbered, numbereds}} {
		for _, w := range strings.Fields(list.words) {
			if _, known := m[w]; !known {
				m[w] = list.class
			}
		}
	}
	return m
})

const titles = `
adm amb asst atty brig capt cmdr comdr cpl cpt dir dr drs gov insp messrs mlle mlles mme mmes mr mrs ms msgr
pfc phd pres prof profs pvt rev rt sgt sr ste supt vs e.g i.e cf viz
hr fr frl dipl dipl.-ing priv univ geb bzw z.b z.bsp u.a d.h i.d.r o.ä u.u v.a z.t ggf bspw sog vgl insb insbes
sra srta sres dra dras d.ª dª arq ud uds vd vds excmo ilmo p.ej avda
sig sig.ra sig.na sigg dott dott.ssa avv prof.ssa geom p.es ecc.mo
m.me p.ex c.-à-d c.à.d mgr
dhr mevr mw drs ir mr.dr bijv d.w.z o.a t.a.v m.b.t i.p.v
mgr inż płk ks św np tzw tj m.in dr.hab bp ppłk
sr.a exmo exma prof.ª profª
bc mudr judr rndr phdr paeddr tzv např tj napr pplk
özk doç yrd yrd.doç örn vb.nin
г-н г-жа г-да гг т.е т.к т.н т.наз им ул пр просп пл пер д-р проф акад доц ген полк подп кап лейт св тов гр напр см
д-рът бул вул пров в.о н.р
κ κα κος δρ καθ αγ π.χ λ.χ δηλ βλ
fa tp ths pgs jl dl dna dvs d-na d-l
`

// propers are capitalised; in small letters they are words ("ill", "miss", "maj").
const propers = `
ala ariz ark calif colo conn del fla ga ill kan ky md mich minn miss mont neb nev okla ore penn tenn tex va vt wash wis wyo ont que alta
sen sens gen rep reps hon col maj lt mag st mt mts
`

const inners = `
bros co corp inc llc llp ltd plc mfg assn dept dist est al ave blvd cir ct rd hwy jct pkwy sq sta
jr esq ph.d m.d b.a m.a d.c u.s u.k u.n e.u u.s.a approx appt apt bldg cont ext govt incl intl misc natl org orig pkg tel temp univ
str pl abs abt bd bzgl ca eidg einschl entspr ersch ev gegr ges hg hrsg jg jh jhd lt max mio mrd min mind österr s.a s.o staatl städt tgl u.ä verh verl wg zzgl zw
ee.uu ee.u aprox cía cia dpto depto gral tfno tel s.l ej ca
circa ing tel s.p.a s.r.l spa srl p.zza
env bd boul éd ed hab tél sté
ca blz afd enz.v gebr gem incl max min nl tel
al ul pl woj pow godz tys mln mld wyd zob
tzn čl č str ul nám mil tis mld
no.lu cad sok mah apt bkz
обл р-н р-на оз о-в ж.-д ж.д изд ред сокр кв стр гл
resp inkl exkl evtl ing lic eng mons av тыс млн млрд трлн ср
med bl.a f.eks t.ex d.v.s s.k osv kl pct
`

const numbereds = `
no nos nr nrs n° nº núm num pp pg pgs art arts art. fig figs vol vols ch chap sec sect para eq ex op ver tab abb bd kap abs § ziff zif
lfd bl tom tome cap pág págs pag pagg páx str s. rys čís čj ust odst par sf cilt madde
jan feb mar apr jun jul aug sep sept oct nov dec ene abr ago dic janv févr avr juil déc gen mag giu lug ott okt mrt mrz febr
січ лют бер квіт трав черв лип серп вер жовт груд ok
mon tue tues wed thu thur thurs fri sat sun
max min ca est num tel
№ стр рис табл гл пп ст кн вып том янв февр фев мар апр авг сент сен окт нояб дек
αρ σελ
`

const finals = `
etc usw uvm u.s.w u.v.m ecc enz itd itp atd apod etc.etc vb v.s vs.vs stb osv ofl m.m a.d b.c b.c.e c.e
и.т.д и.т.п т.д т.п др пр.хр н.э т.ч г.г та.ін т.п
κ.λπ κλπ κ.α κ.ά
`

// starterWords like to begin a sentence and are seldom part of a name.
const starterWords = `
a after all although an and another any are as at because before both but by can could did do does during each even every few first for
from had has have he her here his how however i if in is it it's its i'm just last later let like many maybe me most my never no not
now of on once one only or other our perhaps please she should since so some still such than that that's the their them then there
there's these they this those though through to today tomorrow under until was we well were what what's when where which while who why
will with would yes yesterday yet you your
aber als am an auch auf aus bei bis da das dass dein dem den denn der des deshalb die dies diese dieser dieses doch dort du durch ein
eine einen einer er es für gestern haben hat heute hier hinter ich ihr ihre im ist ja jede jeder jedoch jetzt kann kein keine man
mein mit morgen nach nicht noch nun nur ob obwohl oder ohne sein seine seit sie sind so trotzdem über um und unser unter vom von vor
war warum was weil weitere wenn wer werden wie wir wird wo zu zum zur zwischen
ahora al algunos ante aquí así aún aunque cada casi como cómo con cuando cuándo de del desde después donde dónde el él ella ellas
ellos en entonces era es esa ese eso esta está están estas este esto estos fue ha había hace han hasta hay hoy la las le les lo los
luego más me mi mientras mucho muy ni nos nosotros nuestra nuestro nunca para pero por porque pues qué que quién quien se según ser si
sí siempre sin sobre son su sus también tan tiene todo todos tras tu tú un una unos usted y ya yo
ainsi alors après au aucun aussi aux avant avec c'est ce cela ces cet cette chaque ces comme comment d'abord dans depuis des donc elle
elles en enfin ensuite est et être il ils j'ai je jamais l'on la le les leur leurs lui maintenant mais même mes moi mon ne nos notre
nous où on or ou par parce pendant peut plus plusieurs pour pourquoi puis quand que quel quelle qui sa sans selon ses si son sous sur
ton toujours tous tout toute très tu un une vos votre vous
adesso alcuni allora anche ancora che chi ci come con così cosa da dal della dopo dove due e è ecco era gli ha hanno ho i il in invece
io la le lei loro lui ma mentre mi mio nel nella noi non ogni oggi perché per però più poi prima quale quando quanto quella quello
questa questo quindi se sei si sono sua suo tra tutti tutto un una uno voi
agora ainda além algumas alguns antes ao aos apenas após as às assim até cada com como da das de dela dele depois do dos e é ela elas
ele eles em entre era essa esse esta está este estes eu foi foram há hoje isso isto já lhe mais mas me mesmo meu minha muito na nas não
nem no nos nós nossa nosso num numa o onde os ou para pela pelo por porque quando quanto que quem são se sem ser seu seus sim sobre sua
também tem teve toda todos tudo um uma você
aan alle als bij daar daarna dan dat de deze die dit doe door dus één een en er ging haar had heb heeft het hier hij hoe hun iedereen
ik in is ja je jij maar meer met mijn na naar niet nog nu of om omdat onder ons ook op over te tegen toen tot uit van veel voor waar
waarom want was wat we wel wie wij zal ze zelf zich zij zijn zo zou
ale ani bo był była było być co czy dla dlaczego do gdy gdzie go i ich ja jak jest jestem już kiedy kto która które który lub ma mam
mi mnie może mój my na nad nie nikt o od on ona one oni po pod podczas ponieważ potem przed przez są się ta tak także tam te ten
teraz to tu ty tylko w we wczoraj wszyscy z za ze że
а без был была были было быть в вам вас вот все всё вы где да для до его ее её если есть еще ещё же за здесь и из или их к как какой
когда кто лишь мне мы на над нам нас не него нет ни но ну о об однако он она они оно от перед по под после потом потому при про с
сегодня сейчас со так там теперь то тогда только том ты у уже хотя чего чем что чтобы эта эти это этот я
він вона вони воно де з за й його її коли ми ні однак після про та тому тут у це цей цього ця чи чому що щоб як якщо але
jeg jag du han hun hon vi det den de en et ett och og men så når när hva hvad hvor hvordan hvorfor varför vad ikke inte nu i på til till
ben sen biz siz onlar bu şu o ve ama fakat bir ne nasıl neden çünkü evet hayır dün bugün yarın sonra
to je jsem jsi jsou byl byla ale když kde kdo proč jak já my oni v na se ten ta tato tento
`

var starterSet = sync.OnceValue(func() map[string]bool { return setOf(starterWords) })

// starts says whether word is capitalised and likes to begin a sentence.
func starts(word string) bool {
	for _, r := range word {
		return upper(r) && starterSet()[strings.ToLower(word)]
	}
	return false
}

// ordinalNouns follow an ordinal number: months and other periods, capitalised in the languages that write
// ordinals with a full stop.
var ordinalNouns = sync.OnceValue(func() map[string]bool {
	return setOf(`
	januar jänner februar feber märz april mai juni juli august september oktober november dezember
	jahrhundert jahrhunderts jahrtausend klasse etage stock stockwerk platz geburtstag jahrestag weltkrieg weltkriegs spieltag runde
	lebensjahr semester bundesliga liga auflage kapitel
	ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık yüzyıl yüzyılda sınıf dünya
	`)
})

// ordinalArticles stand before an ordinal number in German.
var ordinalArticles = sync.OnceValue(func() map[string]bool {
	return setOf(`am vom der die das dem den des im zum zur beim ein eine einem einen einer eines jeder jede jedes jeden dieser dieses unser unsere`)
})

func setOf(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
