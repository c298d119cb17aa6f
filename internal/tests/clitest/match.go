package clitest

import (
	"regexp"
	"strings"
)

// Matches reports whether a text matches a pattern of a test or a page. A line of "..." matches any
// number of lines, and "..." in a line matches any text.
func Matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `[^\n]*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}
