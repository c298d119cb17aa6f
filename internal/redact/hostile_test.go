package redact

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A text where a secret may begin at very many places takes about as long as its pieces, and not 16
// times and more as long, as if each place were followed by a search of the rest.
func TestManyBeginsOfSecretsTakeLinearTime(t *testing.T) {
	const size, pieces, limit = 8 << 10, 32, 10
	for _, unit := range []string{"=eyJ1", "=sk-", "=ghp_", "-----BEGIN PRIVATE KEY-----\n", "---- BEGIN PRIVATE KEY ---- "} {
		apart := leastTime(repeated(unit, size), pieces)
		whole := leastTime(repeated(unit, pieces*size), 1)
		if whole > limit*apart {
			t.Errorf("%q: %v, in %d pieces %v", unit, whole, pieces, apart)
		}
	}
}

// A command of curl is looked at once, also if the word curl is in it very often.
func TestManyWordsCurlTakeNoMoreTimeThanFew(t *testing.T) {
	const size, limit = 128 << 10, 50
	few := leastTime(repeated("curl."+strings.Repeat("word.", maxCurl/len("word.")), size), 1)
	many := leastTime(repeated("curl.", size), 1)
	if many > limit*few {
		t.Errorf("%v, with few words %v", many, few)
	}
}

func repeated(unit string, size int) []byte { return bytes.Repeat([]byte(unit), size/len(unit)) }

// leastTime returns the shortest of a few measured times of hiding the secrets of a text the given
// number of times.
func leastTime(raw []byte, times int) time.Duration {
	least := time.Hour
	for range 5 {
		began := time.Now()
		for range times {
			new(Secrets).Bytes(raw)
		}
		least = min(least, time.Since(began))
	}
	return least
}

// A secret at the end of many beginnings is still found.
func TestSecretsAfterManyBegins(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkq", 8) + "\n-----END PRIVATE KEY-----"
	for begins, secret := range map[string]string{
		strings.Repeat("=sk-", 1000):                          "sk-" + strings.Repeat("a1B2", 10),
		strings.Repeat("-----BEGIN PRIVATE KEY-----\n", 1000): key,
		strings.Repeat("curl.", 1000) + " -u user:":           "hunter2-hunter2",
	} {
		safe, n := new(Secrets).Bytes([]byte(begins + secret + " end"))
		if n == 0 || bytes.Contains(safe, []byte(secret[len(secret)/2:])) {
			t.Errorf("%q is not hidden after %q", secret, begins[:30])
		}
	}
}
