package redact

import (
	"bytes"
	"regexp"
	"sync"

	"mcpc/internal/spool"
)

// maxCurl is how many bytes after the name curl are checked.
const maxCurl = 4 << 10

// curlUser matches a flag of curl with a user name and a password. The group is the password.
var curlUser = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[\s"'\\](?:-[uU][\s=]*|--(?:proxy-)?user[\s=]+)["'\\]*[^\s:"'\\]+:([^\s"'\\$]+)`)
})

// hideCurl hides the passwords of "curl -u user:password" in a text.
func hideCurl(raw []byte, _ bool) edit {
	e := edit{raw: raw}
	for offset := 0; ; {
		from := spool.Index(raw, curlWord, offset)
		if from == len(raw) {
			return e
		}
		from += len(curlWord)
		offset = curlEnd(raw, from)
		for _, found := range curlUser().FindAllSubmatchIndex(raw[from:offset], -1) {
			passwordFrom := from + found[2]
			passwordTo := from + found[3]
			secret := string(raw[passwordFrom:passwordTo])
			if isHidden(secret) || beginsHidden(secret) {
				continue
			}
			e.replace(passwordFrom, passwordTo, Redacted(secret))
			e.secrets = append(e.secrets, secret)
		}
	}
}

// curlWord is the name of the command curl.
const curlWord = "curl"

// curlEnd returns the end of the curl command whose name ends at from: a blank line, or maxCurl
// bytes after the last name. Overlapping commands count as one, so that no byte is checked twice.
func curlEnd(raw []byte, from int) int {
	for {
		end := min(len(raw), from+maxCurl)
		next := bytes.Index(raw[from:end], []byte(curlWord))
		if next >= 0 {
			end = from + next
		}
		if blank := bytes.Index(raw[from:end], []byte("\n\n")); blank >= 0 {
			return from + blank
		}
		if next < 0 {
			return end
		}
		from = end + len(curlWord)
	}
}
