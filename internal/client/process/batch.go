package process

import (
	"errors"
	"path/filepath"
	"strings"
)

// Windows runs a batch file, such as npx.cmd, by cmd.exe, which reads its command line by rules of its own:
// in arguments that are quoted for other programs, & begins another command and %NAME% is a variable.

// errBatchArgument is the reason why a batch file is not started.
var errBatchArgument = errors.New(
	"an argument of a batch file cannot have a line end or a zero byte: start the program that it starts",
)

// isBatch reports whether a program is a batch file, by its name.
func isBatch(program string) bool {
	switch strings.ToLower(filepath.Ext(program)) {
	case ".bat", ".cmd":
		return true
	}
	return false
}

// batchCommandLine returns the command line with which cmd.exe runs a batch file so that it gets the
// arguments unchanged.
func batchCommandLine(file string, args []string) (string, error) {
	if strings.ContainsAny(file, "\"%\r\n\x00") {
		return "", errors.New("the path of a batch file cannot have a quote, a percent sign or a line end")
	}
	var b strings.Builder
	b.WriteString(`cmd.exe /e:ON /v:OFF /d /c ""` + file + `"`)
	for _, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", errBatchArgument
		}
		b.WriteByte(' ')
		quoteForBatch(&b, arg)
	}
	b.WriteByte('"')
	return b.String(), nil
}

// quoteForBatch writes an argument in quotes, within which cmd.exe leaves all but % alone. A quote is doubled, with the
// backslashes before it. Each % is followed by a variable that is always empty, so that no pair of them is a variable.
func quoteForBatch(b *strings.Builder, arg string) {
	b.WriteByte('"')
	backslashes := 0
	for i := range len(arg) {
		switch arg[i] {
		case '\\':
			backslashes++
			b.WriteByte('\\')
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, backslashes) + `""`)
		case '%':
			b.WriteString("%%cd:~,%")
		default:
			b.WriteByte(arg[i])
		}
		backslashes = 0
	}
	b.WriteString(strings.Repeat(`\`, backslashes) + `"`)
}
