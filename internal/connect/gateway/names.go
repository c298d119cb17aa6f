package gateway

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"mcpc/internal/capture/filter"
)

// longestName is how long a name may be for the interfaces of models; separator follows the name of the server.
const (
	longestName   = 64
	longestPrefix = 24
	separator     = "__"
	hashDigits    = 8
)

// Prefixes are the names of servers as prefixes: of A-Z, a-z, 0-9, - and single _ inside, at most longestPrefix
// long, each another one. In a name NAME__tool the first __ so always ends the prefix, and two servers never have
// a name in common. The names are different.
func Prefixes(names []string) []string {
	all := make([]string, len(names))
	times := map[string]int{}
	for i, name := range names {
		all[i] = strings.Join(
			strings.FieldsFunc(plainName(strings.TrimPrefix(name, "@")), func(r rune) bool { return r == '_' }),
			"_",
		)
		times[all[i]]++
	}
	for i, name := range names {
		if plain := all[i]; plain == "" || len(plain) > longestPrefix || times[plain] > 1 {
			short := strings.TrimRight(plain[:min(len(plain), longestPrefix-hashDigits-1)], "_")
			for n := 0; times[all[i]] > 0 || n == 0; n++ {
				all[i] = strings.TrimPrefix(short+"-"+hashOf(name, n), "-")
			}
			times[all[i]]++
		}
	}
	return all
}

// plainName replaces what is not allowed in names.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
}

func hashOf(name string, n int) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", name, n)))[:hashDigits]
}

// shownName is the name of an entry for clients: the prefix and the name, where that is allowed and not taken; else
// it is shortened, with a hash of the whole. A name that only looks shortened has a hash too, so that no server
// lists the one of another entry before it.
func shownName(prefix, name string, taken func(string) bool) string {
	whole := name
	if prefix != "" {
		whole = prefix + separator + name
	}
	if plainName(whole) == whole && len(whole) <= longestName && name != "" && !looksHashed(whole) && !taken(whole) {
		return whole
	}
	short := plainName(whole)
	short = short[:min(len(short), longestName-hashDigits-1)]
	for n := 0; ; n++ {
		if shown := short + "_" + hashOf(whole, n); !taken(shown) {
			return shown
		}
	}
}

// looksHashed reports a name that ends as one with a hash.
func looksHashed(name string) bool {
	at := len(name) - hashDigits - 1
	return at >= 0 && name[at] == '_' && strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// serves reports whether a tool of a server is served, and notes the patterns that fit.
func (g *Gateway) serves(m *Member, tool string) bool {
	fits := func(all []string) (any bool) {
		for _, pattern := range all {
			if filter.MatchGlob(pattern, m.Name+"/"+tool) || filter.MatchGlob(pattern, m.Given+"/"+tool) {
				any = true
				g.mu.Lock()
				g.used[pattern] = true
				g.mu.Unlock()
			}
		}
		return any
	}
	allowed := fits(g.Allow)
	denied := fits(g.Deny)
	return (allowed || len(g.Allow) == 0) && !denied
}

// warnUnused tells of patterns that fit no tool of any server, once all servers were listed.
func (g *Gateway) warnUnused() {
	for _, flag := range []struct {
		name string
		all  []string
	}{{"--allow", g.Allow}, {"--deny", g.Deny}} {
		for _, pattern := range flag.all {
			g.mu.Lock()
			used := g.used[pattern]
			g.mu.Unlock()
			if !used {
				g.once("", flag.name+" "+pattern+" matches no tool; a pattern is compared with NAME/TOOL")
			}
		}
	}
}
