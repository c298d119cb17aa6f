package redact

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"mcpc/internal/spool"
)

// knownValues are the values that are secret everywhere, and the patterns of the user. Several
// goroutines may use them at once.
type knownValues struct {
	// mu guards index, patterns and urlWords.
	mu       sync.RWMutex
	index    valueIndex
	patterns []*regexp.Regexp
	// urlWords are words that are secret in URLs only.
	urlWords map[string]bool
	// limit replaces maxKnown in tests. 0 means maxKnown.
	limit int
}

// minKnown is the minimum length of a value that is searched for: shorter values occur in texts by
// chance. maxKnown and maxKnownBytes bound the known values: each value takes about 500 bytes of
// memory in addition to its own.
const (
	minKnown      = 8
	maxKnown      = 200_000
	maxKnownBytes = 64 << 20
)

// add adds a value. It reports false if the value is not known because there are too many.
func (k *knownValues) add(value string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index.values[value] {
		return true
	}
	limit := maxKnown
	if k.limit > 0 {
		limit = k.limit
	}
	if len(k.index.values) >= limit || k.index.size+len(value) > maxKnownBytes {
		return false
	}
	k.index.add(value)
	return true
}

// addPattern adds a pattern of the user.
func (k *knownValues) addPattern(pattern *regexp.Regexp) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.patterns = append(k.patterns, pattern)
}

// addURLWord adds a word that is secret in URLs. It ignores the word if there are maxURLWords
// already.
func (k *knownValues) addURLWord(value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.urlWords[value] || len(k.urlWords) == maxURLWords {
		return
	}
	if k.urlWords == nil {
		k.urlWords = map[string]bool{}
	}
	k.urlWords[strings.Clone(value)] = true
}

// maxURLWords bounds the words that are searched for in URLs. Without them, secrets in URLs are
// still hidden by their names and positions.
const maxURLWords = 1000

// has reports whether value is a known value.
func (k *knownValues) has(value string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.index.values[value]
}

// cutValue returns the known value that begins at the end of text and was cut there, and the length
// of that beginning: the longest if there are several, or "" and 0. A beginning has at least minCut
// bytes.
func (k *knownValues) cutValue(text string) (longest string, length int) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for value := range k.index.values {
		for from := 0; len(value) > minCut; from++ {
			next := strings.Index(text[from:], value[:minCut])
			if next < 0 {
				break
			}
			from += next
			if !strings.HasPrefix(value, text[from:]) {
				continue
			}
			if begun := len(text) - from; begun > length || begun == length && value < longest {
				longest = value
				length = begun
			}
			break
		}
	}
	return longest, length
}

// count returns the number of known values and words.
func (k *knownValues) count() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.index.values) + len(k.urlWords)
}

// isEmpty reports whether there are no known values.
func (k *knownValues) isEmpty() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.index.values) == 0 && len(k.patterns) == 0 && len(k.urlWords) == 0
}

// overlap returns how many bytes after a window are searched for the rest of a value that begins in
// it.
func (k *knownValues) overlap() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return max(window/16, min(16*k.index.longest, 8*window))
}

// hasEscapes reports whether a text has escapes that may hide a known value.
func (k *knownValues) hasEscapes(raw []byte) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.index.hasEscapes(raw)
}

// hasNone reports whether raw has neither a known value nor an escape that may hide one. It reports
// false if the user has patterns. It does not check words in URLs.
func (k *knownValues) hasNone(raw []byte) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.patterns) > 0 || k.index.hasEscapes(raw) {
		return false
	}
	none := true
	k.index.scan(raw, func(int, int, string) { none = false })
	return none
}

// appendSightings appends the places of known values, of secret words in URLs and of matches of
// patterns in raw. It decodes no escapes.
func (k *knownValues) appendSightings(all []sighting, raw []byte) []sighting {
	k.mu.RLock()
	defer k.mu.RUnlock()
	k.index.scan(raw, func(from, to int, value string) { all = append(all, sighting{from, to, value, FoundKnown}) })
	if len(k.urlWords) > 0 {
		eachURLPart(raw, func(from, to int) {
			if value := unescaped(string(raw[from:to])); k.urlWords[value] {
				all = append(all, sighting{from, to, value, FoundURL})
			}
		})
	}
	for _, pattern := range k.patterns {
		for _, match := range pattern.FindAllIndex(raw, -1) {
			if match[1] > match[0] { // a pattern may also match an empty text
				all = append(all, sighting{match[0], match[1], string(raw[match[0]:match[1]]), FoundKnown})
			}
		}
	}
	return all
}

// eachURLPart calls found for the parts of the URLs in raw that may be secret: the user's name and
// password, and the values of parameters.
func eachURLPart(raw []byte, found func(from, to int)) {
	for offset := 0; ; {
		begin := spool.Index(raw, "://", offset)
		if begin == len(raw) {
			return
		}
		begin += len("://")
		end := begin
		for end < len(raw) && classes[raw[end]]&urlEnd == 0 {
			end++
		}
		host := begin + strings.IndexAny(string(raw[begin:end])+"/", "/?#")
		if user := bytes.LastIndexByte(raw[begin:host], '@'); user >= 0 {
			name, _, _ := bytes.Cut(raw[begin:begin+user], []byte(":"))
			found(begin, begin+len(name)) // then the password, which is empty without a colon
			found(min(begin+len(name)+1, begin+user), begin+user)
		}
		for i := host; i < end; i++ {
			if raw[i] != '=' {
				continue
			}
			to := i + 1
			for to < end && strings.IndexByte(paramBegins, raw[to]) < 0 {
				to++
			}
			found(i+1, to)
		}
		offset = end
	}
}
