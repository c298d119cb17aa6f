package redact

import (
	"bytes"
	"regexp"
	"sync"

	"mcpc/internal/spool"
)

// longestCurl is how many bytes of a command of curl are looked at.
const longestCurl = 4 << 10

// curlUser matches a flag of curl with a user's name and a password, which is the group.
var curlUser = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[\s"'\\](?:-[uU][\s=]*|--(?:proxy-)?user[\s=]+)["'\\]*[^\s:"'\\]+:([^\s"'\\$]+)`)
})

// hideCurl hides the passwords of "curl -u user:password" in a text.
func hideCurl(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	for at := 0; ; {
		from := spool.Index(raw, "curl", at)
		if from == len(raw) {
			return e
		}
		at = from + len("curl")
		line, _, _ := bytes.Cut(raw[at:min(len(raw), at+longestCurl)], []byte("\n\n"))
		if next := bytes.Index(line, []byte("curl ")); next >= 0 {
			line = line[:next]
		}
		for _, found := range curlUser().FindAllSubmatchIndex(line, -1) {
			secret := string(line[found[2]:found[3]])
			if isHidden(secret) || beginsHidden(secret) || at+found[2] < e.done {
				continue
			}
			e.put(at+found[2], at+found[3], Redacted(secret))
			e.secrets = append(e.secrets, secret)
		}
	}
}
