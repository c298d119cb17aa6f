package clitest

import (
	"regexp"
	"strings"
)

// Matches reports whether a text is as a test or a page shows it, where a line of "..." is any number of lines,
// and "..." in a line any text.
func Matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?s:.*)`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `[^\n]*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}
