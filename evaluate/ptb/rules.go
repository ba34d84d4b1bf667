package ptb

// The rules were written from the behaviour of the reference: its outputs on
// real and made-up text, and probes with every character and abbreviation. The
// longest match wins, what follows in the lookahead included; of equally long
// matches the rule that stands first.

// An action says what a match becomes.
type action uint8

const (
	emit        action = iota // the text
	emitQuotes                // the text with its quotes made plain
	emitNoHyph                // the text without soft hyphens
	emitNBSP                  // blanks inside become no-break spaces
	emitFixed                 // a fixed token
	emitAsDash                // "--" for three or four hyphens
	emitBrack                 // the text with brackets named
	emitSmiley                // the text with parentheses named
	emitAmp                   // the text with entities decoded
	emitVulgar                // a written-out fraction
	emitChar                  // one character, made plain
	skip                      // nothing
	newline                   // ends a line
	cutTail                   // the text less its last n characters, which are read again
	emitThenDot               // the text, and its final period again
)

// A rule is a pattern with what must follow it and what it becomes.
type rule struct {
	pattern string
	ahead   string // "" for none
	act     action
	n       int    // of cutTail
	text    string // of emitFixed
}

// names are the pieces that patterns share, in order of definition.
var names = []struct{ name, pattern string }{
	{"d", `[0-9δ]`},
	{"al", `[A-Za-zλΛ]`},
	{"aln", `[A-Za-zλΛ0-9δ]`},
	{"blank", `[ \tνω]`},
	{"gap", `[ \tνω‥\n]`},
	{"apos", `(['’]|&~"apos";)`},
	{"apoq", "(['’‘`]|&~\"apos\";)"},
	{"hyph", `[\-_η]`},
	{"amp", `(&|&~"amp";)`},
	{"letter", `([A-Za-zλΛμσ]|&[aeiouAEIOU](~"acute"|~"grave"|~"uml");)`},
	{"word", `{letter}({letter}|{d})*([.!?]{letter}({letter}|{d})*)*`},
	{"stem", `[A-Za-zσ]*[A-MO-Za-mo-z]σ*`},
	{"red", `{apos}([msdMSD]|~"re"|~"ve"|~"ll")`},
	{"nt", `[nN]{apoq}[tT]`},
	{"tagname", `[A-Za-z][A-Za-z0-9_:.\-]*`},
	{"tag", `<([!?][A-Za-z\-][^>\n]*|{tagname}([ ]+({tagname}|{tagname}[ ]*=[ ]*('[^'\n]*'|"[^"\n]*")))*[ ]*/?|/{tagname})[ ]*>`},
	{"caps", `[A-Z]+(({amp}|\+)[A-Z]+)+`},
	{"num", `({d}+|{d}*([.:,σρ]{d}+)+)`},
	{"prefixed", `([dDoOlL]{apoq}{aln})?`},
	{"thing", `{prefixed}{aln}+({hyph}{prefixed}{aln}+)*`},
	{"init", `[A-Za-z]`},
	{"acro", `([A-Za-z](\.[A-Za-z])+|(~"canada"|~"sino"|~"korean"|~"eu"|~"japan"|~"non")-~"u.s"|~"u.s.-"(~"u.k"|~"u.s.s.r"))`},
	{"hthing", `[A-Za-z0-9][A-Za-z0-9.,σ]*(-([A-Za-z0-9σ]+|{acro}\.))+`},
	{"upword", `[A-ZΛΞΩ]`},
	{"sentend", `{gap}({gap}|{upword}|{tag})`},
	{"abbrA", `(~"al"|~"co"|~"cos"|~"ct"|~"ga"|~"jr"|~"ky"|~"md"|~"mo"|~"rd"|~"rt"|~"sq"|~"sr"|~"va"|~"vt"|~"ala"|~"apr"|~"aug"|~"bhd"|~"dak"|~"dec"|~"esq"|~"est"|~"etc"|~"ext"|~"feb"|~"fla"|~"fri"|~"inc"|~"ind"|~"jan"|~"jul"|~"jun"|~"kan"|~"kans"|~"ltd"|~"mar"|~"mon"|~"mont"|~"neb"|~"nev"|~"nov"|~"oct"|~"plc"|[pP][pP]?[tT][ey][sS]?|~"sep"|~"sept"|~"seq"|~"sys"|~"tel"|~"thu"|~"thurs"|~"tue"|~"tues"|~"wed"|~"wis"|~"wisc"|~"wyo"|~"ariz"|~"assn"|~"bancorp"|~"bldg"|~"blvd"|~"bros"|~"calif"|~"colo"|~"conn"|~"corp"|~"intl"|~"mich"|~"minn"|~"okla"|~"penn"|~"tenn"|~"univ"|A~"z"|L~"a"|P~"a"|A~"rk"|D~"el"|I~"ll"|O~"re"|T~"ex"|M~"ass"|M~"iss"|W~"ash"|~"ed"\.~"d"|~"ph"\.~"d")\.`},
	{"abbrC", `(~"cf"|~"dr"|~"drs"|~"ft"|~"lt"|~"mr"|~"mrs"|~"ms"|~"mt"|~"ph"|~"st"|~"ste"|~"vs"|~"wm"|~"adj"|~"adm"|~"adv"|~"assoc"|~"asst"|~"atty"|~"attys"|~"alex"|~"ave"|~"brig"|~"capt"|~"cie"|~"cmdr"|~"comdr"|~"col"|~"cpl"|~"dept"|~"det"|~"elec"|~"ens"|~"gen"|~"gov"|~"govs"|~"hon"|~"insp"|~"invt"|~"jos"|~"lieut"|~"maj"|~"messrs"|[mM]f[gG]|[mM]t[gG]|~"mlle"|~"mme"|~"msgr"|~"natl"|~"pfc"|~"pres"|~"prof"|~"profs"|~"pvt"|~"rep"|~"reps"|~"rev"|~"sen"|~"sens"|~"sfc"|~"sgt"|~"spc"|~"supt"|~"supts"|~"treas"|~"a.k.a")\.`},
	{"abbrD", `(~"ca"|~"no"|~"nos"|~"op"|~"pp"|~"art"|~"fig"|~"figs"|~"prop")\.`},
	{"starter", `(A~"bout"|A~"ccording"|A~"dditionally"|A~"fter"|A|A~"n"|A~"s"|A~"t"|B~"ut"|E~"arlier"|H~"e"|H~"er"|H~"ere"|H~"owever"|I~"f"|I~"n"|I~"t"|L~"ast"|M~"any"|M~"ore"|M~"r."|M~"s."|N~"ow"|O~"nce"|O~"ne"|O~"ther"|O~"ur"|S~"he"|S~"ince"|S~"o"|S~"ome"|S~"uch"|T~"hat"|T~"he"|T~"heir"|T~"hen"|T~"here"|T~"hese"|T~"hey"|T~"his"|W~"e"|W~"hat"|W~"hen"|W~"hile"|Y~"et"|Y~"ou"|{tag})`},
	{"acroend", `{gap}+{starter}{gap}`},
	{"ext", `(~"bat"|~"bmp"|~"c"|~"class"|~"cgi"|~"cpp"|~"dll"|~"doc"|~"docx"|~"exe"|~"gif"|~"gz"|~"h"|~"htm"|~"html"|~"jar"|~"java"|~"jpg"|~"jpeg"|~"mov"|~"mp3"|~"pdf"|~"php"|~"pl"|~"png"|~"ppt"|~"ps"|~"py"|~"sql"|~"tar"|~"txt"|~"wav"|~"x"|~"xml"|~"zip")`},
	{"path", `/[^ \t\n"<>|()]+[^ \t\n"<>|.!?(){},\-]`},
}

// rules in the order that decides between equally long matches.
var rules = []rule{
	{pattern: `~"cannot"`, act: cutTail, n: 3},
	{pattern: `(~"gonna"|~"gotta"|~"lemme"|~"gimme"|~"wanna")`, act: cutTail, n: 2},
	{pattern: `'~"tis"`, act: cutTail, n: 2},
	{pattern: `'~"twas"`, act: cutTail, n: 3},
	{pattern: `{tag}`, act: emitNBSP},
	{pattern: `(&(~"md"|~"mdash"|~"ndash");|[–])`, act: emitFixed, text: "--"},
	{pattern: `&~"amp";`, act: emitFixed, text: "&"},
	{pattern: `&~"lt";`, act: emitFixed, text: "<"},
	{pattern: `&~"gt";`, act: emitFixed, text: ">"},
	{pattern: `{word}`, ahead: `{red}`, act: emitNoHyph},
	{pattern: `{stem}`, ahead: `{nt}`, act: emitNoHyph},
	{pattern: `{word}`, act: emitNoHyph},
	{pattern: `({apos}[nN]{apos}?|[lLdDjJ]{apos}|[dD]~"unkin"{apos}|[sS]~"omethin"{apos}|[oO]~"l"{apos}|{apos}~"em"|[A-HJ-XZn]{apoq}{al}{al}+|{apos}[2-9]0~"s"|{apos}~"til"[lL]?|{al}+[aeiouyAEIOUY]{apoq}[aeiouA-Z]{al}*|{apos}~"cause"|~"c"{apos}~"mon"|~"e"{apos}~"er"|~"o"{apoq}~"o"|~"s"'~"mores"|~"cap"{apos}~"n")`, act: emit},
	{pattern: `{apos}[0-9]{2}`, ahead: `{gap}`, act: emit},
	{pattern: `[yY]{apos}`, ahead: `{al}`, act: emit},
	{pattern: `https?://[^ \t\n"<>|(){}]+[^ \t\n"<>|.!?(){},\-]`, act: emit},
	{pattern: `(www\.([^ \t\n"<>|.!?(){},]+\.)+[a-zA-Z]{2,4}|([^ \t\n"` + "`" + `'<>|.!?(){},-_$]+\.)+(~"com"|~"net"|~"org"|~"edu"))({path})?`, act: emit},
	{pattern: `(&~"lt";|<)?[a-zA-Z0-9][^ \t\n"<>|(){}ν]*@([^ \t\n"<>|(){}.ν]+\.)*([^ \t\n"<>|(){}ν.]+)(&~"gt";|>)?`, act: emit},
	{pattern: `(@[A-Za-z_][A-Za-z_0-9]*|#{letter}+)`, act: emit},
	{pattern: `{red}`, ahead: `[^A-Za-z]`, act: emitQuotes},
	{pattern: `{d}{1,2}[\-/]{d}{1,2}[\-/]{d}{2,4}`, act: emit},
	{pattern: `[\-+]?{num}`, act: emitNoHyph},
	{pattern: `[π]+`, act: emit},
	{pattern: `({d}{1,4}[\- ν])?{d}{1,4}(\\?/|[φ]){d}{1,4}`, act: emitNBSP},
	{pattern: `[½]`, act: emitVulgar},
	{pattern: `-(~"lrb"|~"rrb"|~"lcb"|~"rcb"|~"lsb"|~"rsb")-`, act: emit},
	{pattern: `([CcFf]#|[Cc]\+\+)`, act: emit},
	{pattern: `&(#[0-9]+|~"ht"|~"tl"|~"ur"|~"lr"|~"qc"|~"ql"|~"qr"|~"odq"|~"cdq");`, act: emit},
	{pattern: `[A-Za-z0-9]+(-[A-Za-z]+){0,2}(\\?/[A-Za-z0-9]+(-[A-Za-z]+){0,2}){1,2}`, act: emit},
	{pattern: `([A-Z]*\$|#)`, act: emit},
	{pattern: `[εγθ]`, act: emitChar},
	{pattern: `(~"co"|[pP]?[pP][tT][eyEY][sS]?)\.`, ahead: `{blank}(~"ltd"|~"lim")`, act: emit},
	{pattern: `{abbrA}`, ahead: `{sentend}`, act: emitThenDot},
	{pattern: `{abbrA}`, ahead: `(.|\n)(.|\n)`, act: emit},
	{pattern: `{abbrA}`, act: emitThenDot},
	{pattern: `{abbrC}`, act: emit},
	{pattern: `{abbrD}`, ahead: `{gap}?{d}`, act: emit},
	{pattern: `{acro}\.`, ahead: `{acroend}`, act: emitThenDot},
	{pattern: `{init}\.`, ahead: `{acroend}`, act: cutTail, n: 1},
	{pattern: `({acro}|{init})\.`, act: emit},
	{pattern: `{acro}`, ahead: `{gap}`, act: emit},
	{pattern: `({letter}|{d})+(\.({letter}|{d})+)*\.{ext}`, ahead: `({gap}|[.?!,])`, act: emit},
	{pattern: `({word}|{thing}|{hthing}|{caps})\.`, ahead: `[,;:ι]`, act: emitNoHyph},
	{pattern: `(\([0-9]{2,3}\)[ ν]?|(\+\+?)?([0-9]{2,4}[\- ν])?[0-9]{2,4}[\- ν])[0-9]{3,4}[\- ν]?[0-9]{3,5}`, act: emitBrack},
	{pattern: `((\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}`, act: emit},
	{pattern: `("|&quot;)`, ahead: `[A-Za-z0-9$]`, act: emitFixed, text: "``"},
	{pattern: `("|&quot;)`, act: emitFixed, text: "''"},
	{pattern: `&~"quot";`, act: emit},
	{pattern: `[<>]?[:;=][\-o*']?[()DPdpO@\[\]{|\\]`, ahead: `[^A-Za-z0-9]`, act: emitSmiley},
	{pattern: `([\-\^x=~<>']_[\-\^x=~<>']|\([\-\^x=~<>'][_.]?[\-\^x=~<>']\)|\([\^x=~<>']-[\^x=~<>'` + "`" + `]\))`, act: emitSmiley},
	{pattern: `[\[\](){}]`, act: emitBrack},
	{pattern: `-+`, act: emitAsDash},
	{pattern: `(\.{3,5}|(\.[ ν]){2,4}\.|[‥…])`, act: emitFixed, text: "..."},
	{pattern: `(@+|\*+|(\\\*){1,3}|#+|_+|<<|>>)`, act: emit},
	{pattern: `[,;:ι]`, act: emit},
	{pattern: `[?!]+`, act: emit},
	{pattern: `\.`, act: emit},
	{pattern: `[=/]`, act: emit},
	{pattern: `{hthing}`, act: emitNoHyph},
	{pattern: `{thing}`, act: emitNoHyph},
	{pattern: `{caps}`, act: emitAmp},
	{pattern: `'`, ahead: `[A-Za-z][^ \t\nν]`, act: emitFixed, text: "`"},
	{pattern: `{red}`, act: emitQuotes},
	{pattern: `{nt}`, act: emitQuotes},
	{pattern: "('|&~\"apos\";|''|[`‘’‹›“”κ]{1,2})", act: emitQuotes},
	{pattern: `[ψφΩ%&^+<>|~\\]`, act: emit},
	{pattern: `[ \tνω]+`, act: skip},
	{pattern: `&~"nbsp";`, act: skip},
	{pattern: `(\r\l|\n)`, act: newline},
	{pattern: `[σ]`, act: emitFixed, text: "-"},
	{pattern: `.`, act: skip},
}
