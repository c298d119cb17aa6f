package redact

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// A tokenForm is the form of a service's tokens: a fixed beginning, and a minimum number of
// characters of an alphabet after it.
type tokenForm struct {
	prefix    string
	minLength int
	// alphabet is the alphabet of the first minLength bytes after the beginning. If it is nil, the body
	// may have any token bytes, with a digit among them.
	alphabet *[256]bool
	// standsAlone is set for a beginning that words have as well: nothing may be glued to it.
	standsAlone bool
	// keepsPrefix is set if the beginning is the readable part of a URL and stays unhidden.
	keepsPrefix bool
	// condition is another condition, or nil.
	condition func(body []byte) bool
}

// The alphabets of tokens.
var (
	hexDigits = alphabet("0123456789abcdefABCDEF")
	capitals  = alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	alnum     = alphabet(lettersAndDigits)
	wordBytes = alphabet(lettersAndDigits + "_-")
	dotted    = alphabet(lettersAndDigits + "_-.")
	base64Set = alphabet(lettersAndDigits + "+/=_-")
)

// alphabet returns the set of the bytes in letters.
func alphabet(letters string) *[256]bool {
	set := new([256]bool)
	for _, c := range []byte(letters) {
		set[c] = true
	}
	return set
}

// tokenTable has the forms of tokens: each line has the beginnings with the same alphabet and
// minimum length. It follows the services' documentation of their tokens.
var tokenTable = []struct {
	alphabet  *[256]bool
	minLength int
	prefixes  string // separated by spaces
}{
	// GitHub, GitLab, Bitbucket, Gitea's hosts, Sourcegraph, Atlassian.
	{alnum, 30, "ghu_ ghr_"},
	{wordBytes, 20, "gldt- glrt- glrtr- glptt- glft- glimt- gloas- glsoat- glffct- glwt- GR1348941"},
	{wordBytes, 16, "glcbt-"},
	{wordBytes, 50, "glagent-"},
	{hexDigits, 40, "sgp_ bkua_ squ_ sqp_ sqa_ pul- sbp_ e2b_"},
	{alnum, 32, "ATBB"},
	{base64Set, 100, "ATATT3 ATCTT3"},
	// Slack, Discord.
	{wordBytes, 16, "xoxa- xoxo- xoxr- xoxs- xoxe- xoxc- xapp-"},
	{base64Set, 16, "xoxd-"},
	{dotted, 24, "xoxe."},
	// Clouds.
	{capitals, 16, "ASIA ABIA ACCA AKIA"},
	{wordBytes, 28, "GOCSPX-"},
	{dotted, 30, "ya29."},
	{alnum, 20, "LTAI"},
	{alnum, 32, "AKID"},
	{alnum, 40, "AKLT"},
	{hexDigits, 64, "dop_v1_ doo_v1_ dor_v1_"},
	{hexDigits, 32, "dapi dose"},
	{wordBytes, 56, "HRKU-AA"},
	{wordBytes, 27, "dckr_pat_ dckr_oat_"},
	{wordBytes, 43, "sha256~ CFPAT- fo1_"},
	{base64Set, 100, "fm2_ fm1r_ fm1a_"},
	{wordBytes, 30, "vercel_blob_rw_ rnd_ pscale_tkn_ pscale_pw_ pscale_oauth_ sb_secret_"},
	{alnum, 24, "vcp_ vci_ vca_ vcr_ vck_"},
	{alnum, 36, "nfp_ pnu_"},
	{wordBytes, 16, "tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook-"},
	{wordBytes, 35, "AQVN"},
	{wordBytes, 40, "CCIPAT_ CCIPRJ_"},
	// Secrets' own managers.
	{base64Set, 90, "hvs. hvb. hvr."},
	{alnum, 40, "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit."},
	{dotted, 40, "dp.st."},
	{base64Set, 200, "ops_eyJ"},
	{capitals, 58, "AGE-SECRET-KEY-1"},
	// Models.
	{alnum, 34, "api_org_"},
	{alnum, 40, "sess- pplx- gsk_ r8_"},
	{alnum, 70, "xai-"},
	{wordBytes, 60, "nvapi-"},
	{wordBytes, 40, "csk- pcsk_ jina_"},
	{wordBytes, 36, "lsv2_pt_ lsv2_sk_"},
	{wordBytes, 24, "tvly-"},
	{hexDigits, 40, "sk_"},
	// Payments.
	{alnum, 16, "rk_live_ rk_test_ sk_prod_ rk_prod_"},
	{base64Set, 24, "whsec_"},
	{hexDigits, 32, "shpat_ shpca_ shppa_ shpss_ shptka_ FLWSECK- FLWSECK_TEST-"},
	{wordBytes, 22, "sq0atp-"},
	{wordBytes, 43, "sq0csp- duffel_live_ duffel_test_"},
	{wordBytes, 60, "EAAAE"},
	{alnum, 54, "EZAK EZTK"},
	{hexDigits, 40, "shippo_live_ shippo_test_"},
	// Mail and messages.
	{dotted, 60, "SG."},
	{hexDigits, 64, "xkeysib- xsmtpsib-"},
	// Packages.
	{hexDigits, 48, "rubygems_"},
	{alnum, 60, "CLOJARS_"},
	{alnum, 69, "AKCp"},
	{alnum, 59, "cmVmd"},
	// Work and watching.
	{alnum, 40, "lin_api_ lin_oauth_ ntn_"},
	{wordBytes, 40, "figd_ figo_"},
	{hexDigits, 64, "sntryu_ rdme_xn8s9h s-s4t2ud- s-s4t2af-"},
	{base64Set, 60, "sntrys_"},
	{base64Set, 32, "glc_"},
	{wordBytes, 41, "glsa_"},
	{base64Set, 70, "eyJrIjoi"},
	{capitals, 27, "NRAK- NRAA- NRBR-"},
	{alnum, 32, "NRII-"},
	{hexDigits, 19, "NRJS-"},
	{dotted, 80, "dt0c01. dt0s01. dt0s16."},
	{extendAlphabet(hexDigits, "-"), 59, "PMAK-"},
	{alnum, 58, "hcaik_"},
	{wordBytes, 59, "tfp_"},
	{wordBytes, 64, "rootly_ fio-u-"},
	{alnum, 16, "sm_aat_ sm_pat_ sm_sat_"},
	{hexDigits, 48, "tk-us-"},
	{wordBytes, 100, "EAACEdEose0cBA"},
}

// oldForms have fewer conditions: they are the beginnings of many kinds of tokens, in several
// lengths.
var oldForms = []string{
	"sk-", "sk_live_", "sk_test_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-",
	"xoxp-", "AIza", "eyJ", "hf_", "npm_", "pypi-",
}

// otherForms are the forms that need more than an alphabet and a length.
var otherForms = []tokenForm{
	{prefix: "SK", minLength: 32, alphabet: hexDigits, standsAlone: true, condition: hasExactLength(32)},
	{prefix: "key-", minLength: 32, alphabet: alnum, standsAlone: true, condition: hasExactLength(32)},
	{prefix: "p8e-", minLength: 32, alphabet: alnum, standsAlone: true},
	{prefix: "fc-", minLength: 32, alphabet: hexDigits, standsAlone: true},
	{prefix: "secret_", minLength: 43, alphabet: alnum, standsAlone: true},
	{prefix: "ico-", minLength: 32, alphabet: alnum, standsAlone: true},
	{prefix: "1//0", minLength: 60, alphabet: wordBytes, standsAlone: true},
	{prefix: "pat", minLength: 79, alphabet: dotted, standsAlone: true, condition: func(body []byte) bool {
		return body[14] == '.' && areHex(body[15:79])
	}},
	{prefix: "hooks.slack.com/services/", minLength: 30, alphabet: extendAlphabet(wordBytes, "/"), keepsPrefix: true},
	{prefix: "hooks.slack.com/workflows/", minLength: 30, alphabet: extendAlphabet(wordBytes, "/"), keepsPrefix: true},
	{prefix: "hooks.slack.com/triggers/", minLength: 30, alphabet: extendAlphabet(wordBytes, "/"), keepsPrefix: true},
	{prefix: "discord.com/api/webhooks/", minLength: 60, alphabet: extendAlphabet(wordBytes, "/"), keepsPrefix: true},
	{prefix: "discordapp.com/api/webhooks/", minLength: 60, alphabet: extendAlphabet(wordBytes, "/"), keepsPrefix: true},
}

// extendAlphabet returns the set of the bytes in base and in extra.
func extendAlphabet(base *[256]bool, extra string) *[256]bool {
	all := *base
	for _, c := range []byte(extra) {
		all[c] = true
	}
	return &all
}

// hasExactLength returns a condition: a body has exactly n characters before its end or before the
// first character that is not a letter or digit.
func hasExactLength(n int) func(body []byte) bool {
	return func(body []byte) bool { return len(body) == n || !alnum[body[n]] }
}

// formsByFirstByte returns the forms by the first byte of their beginning, the longest beginning
// first.
var formsByFirstByte = sync.OnceValue(func() *[256][]tokenForm {
	table := new([256][]tokenForm)
	add := func(f tokenForm) { table[f.prefix[0]] = append(table[f.prefix[0]], f) }
	for _, begin := range oldForms {
		add(tokenForm{prefix: begin, minLength: minToken})
	}
	for _, line := range tokenTable {
		for prefix := range strings.FieldsSeq(line.prefixes) {
			isShort := len(prefix) < 4 // words have it as well
			add(tokenForm{prefix: prefix, minLength: line.minLength, alphabet: line.alphabet, standsAlone: isShort})
		}
	}
	for _, f := range otherForms {
		add(f)
	}
	for _, forms := range table {
		slices.SortStableFunc(forms, func(a, b tokenForm) int { return len(b.prefix) - len(a.prefix) })
	}
	return table
})

// matches reports whether body, the rest of a run after the beginning of the form, completes a token.
// ends describes the run. A JSON Web Token must have three parts: otherwise it is JSON in base64,
// such as a cursor.
func (f tokenForm) matches(body []byte, ends *runEnds) bool {
	if len(body) < f.minLength {
		return false
	}
	if f.alphabet == nil {
		ends.compute()
		return len(body) >= ends.digit && (f.prefix != "eyJ" || len(body) >= ends.dots)
	}
	for _, c := range body[:f.minLength] {
		if !f.alphabet[c] {
			return false
		}
	}
	k := countCharacters(body[:f.minLength])
	isWordLike := k.digit == 0 && (k.upper == 0 || k.lower == 0) // without digits, and in one case
	return !isWordLike && (f.condition == nil || f.condition(body))
}

// runEnds caches the lengths of the shortest ends of a run of token bytes with a digit and with two
// dots. A token may begin at many places of a run, and each would otherwise search the rest of the
// run.
type runEnds struct {
	run        []byte
	isComputed bool
	// digit and dots are the lengths of the ends. They exceed the run's length if there is no such
	// end.
	digit, dots int
}

// compute computes digit and dots once.
func (e *runEnds) compute() {
	if e.isComputed {
		return
	}
	e.isComputed = true
	e.digit = len(e.run) - bytes.LastIndexAny(e.run, "0123456789")
	dot := max(0, bytes.LastIndexByte(e.run, '.')) // the last dot; the one before it begins the end with two
	e.dots = len(e.run) - bytes.LastIndexByte(e.run[:dot], '.')
}
