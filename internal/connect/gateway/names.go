package gateway

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"mcpc/internal/capture/filter"
)

const (
	// maxName is the length of the longest name that the interfaces of models accept, maxPrefix the
	// part of it that a prefix may take.
	maxName   = 64
	maxPrefix = 24
	// separator follows the prefix.
	separator = "__"
	// hashDigits is the length of a hash in a shortened name.
	hashDigits = 8
)

// Prefixes returns a different prefix for each server: A-Z, a-z, 0-9, - and single _ inside, at
// most maxPrefix long. The first __ of a name therefore ends the prefix, and two servers never
// share a name. The names must be different.
func Prefixes(names []string) []string {
	all := make([]string, len(names))
	count := map[string]int{}
	for i, name := range names {
		parts := strings.FieldsFunc(plainName(strings.TrimPrefix(name, "@")), func(r rune) bool { return r == '_' })
		all[i] = strings.Join(parts, "_")
		count[all[i]]++
	}
	for i, name := range names {
		plain := all[i]
		needsHash := plain == "" || len(plain) > maxPrefix || count[plain] > 1
		if !needsHash {
			continue
		}
		short := strings.TrimRight(plain[:min(len(plain), maxPrefix-hashDigits-1)], "_")
		for attempt := 0; ; attempt++ {
			// Without a usable character in the name, the hash alone is the prefix.
			all[i] = strings.TrimPrefix(short+"-"+shortHash(name, attempt), "-")
			if count[all[i]] == 0 {
				break // no other server has this prefix
			}
		}
		count[all[i]]++
	}
	return all
}

// plainName replaces each character that is not allowed in a name by _.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		isDigit := r >= '0' && r <= '9'
		if isLetter || isDigit || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// shortHash returns hashDigits hexadecimal digits that depend on name and attempt.
func shortHash(name string, attempt int) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", name, attempt)))[:hashDigits]
}

// clientName returns an entry's name for clients: prefix, separator and name if that is allowed and
// not taken. Otherwise it shortens it and appends a hash of the whole. A name that only looks
// shortened gets a hash, too: a server cannot take the shortened name of another entry.
func clientName(prefix, name string, taken func(string) bool) string {
	whole := name
	if prefix != "" {
		whole = prefix + separator + name
	}
	isAllowed := plainName(whole) == whole && len(whole) <= maxName && name != ""
	if isAllowed && !looksHashed(whole) && !taken(whole) {
		return whole
	}
	short := plainName(whole)
	short = short[:min(len(short), maxName-hashDigits-1)]
	for attempt := 0; ; attempt++ {
		if shown := short + "_" + shortHash(whole, attempt); !taken(shown) {
			return shown
		}
	}
}

// looksHashed reports whether a name ends with _ and hashDigits hexadecimal digits, as clientName
// makes it.
func looksHashed(name string) bool {
	separatorIndex := len(name) - hashDigits - 1
	if separatorIndex < 0 || name[separatorIndex] != '_' {
		return false
	}
	return strings.Trim(name[separatorIndex+1:], "0123456789abcdef") == ""
}

// serves reports whether --allow and --deny let a tool be served, and records the patterns that
// match it for warnUnused.
func (g *Gateway) serves(m *Member, tool string) bool {
	matches := func(patterns []string) bool {
		isMatch := false
		for _, pattern := range patterns { // all of them, since each match is recorded
			if filter.MatchGlob(pattern, m.Name+"/"+tool) || filter.MatchGlob(pattern, m.Given+"/"+tool) {
				isMatch = true
				g.mu.Lock()
				g.matchedPatterns[pattern] = true
				g.mu.Unlock()
			}
		}
		return isMatch
	}
	allowed := matches(g.Allow)
	denied := matches(g.Deny)
	isAllowed := allowed || len(g.Allow) == 0 // without --allow every tool is
	return isAllowed && !denied
}

// warnUnused warns the user about patterns that match no tool of any server. It must not be called
// before the tools of all servers are known.
func (g *Gateway) warnUnused() {
	for _, flag := range []struct {
		name     string
		patterns []string
	}{{"--allow", g.Allow}, {"--deny", g.Deny}} {
		for _, pattern := range flag.patterns {
			g.mu.Lock()
			used := g.matchedPatterns[pattern]
			g.mu.Unlock()
			if !used {
				g.showOnce(textIsKey, flag.name+" "+pattern+" matches no tool; a pattern is compared with NAME/TOOL")
			}
		}
	}
}
