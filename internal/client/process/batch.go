package process

import (
	"errors"
	"path/filepath"
	"strings"
)

// Windows runs a batch file, such as npx.cmd, with cmd.exe, which has its own rules for the command
// line: in arguments that are quoted for other programs, & begins another command and %NAME% is a
// variable.

// errBatchArgument is the error for an argument that cmd.exe cannot pass on.
var errBatchArgument = errors.New(
	"an argument of a batch file cannot have a line end or a zero byte: start the program that it starts",
)

// isBatch reports whether a program's name has the extension of a batch file.
func isBatch(program string) bool {
	switch strings.ToLower(filepath.Ext(program)) {
	case ".bat", ".cmd":
		return true
	}
	return false
}

// batchCommandLine returns the command line that makes cmd.exe run a batch file so that the file
// gets the arguments unchanged. It returns an error for a path or an argument that cmd.exe cannot
// pass on.
func batchCommandLine(file string, args []string) (string, error) {
	if strings.ContainsAny(file, "\"%\r\n\x00") {
		return "", errors.New("the path of a batch file cannot have a quote, a percent sign or a line end")
	}
	var b strings.Builder
	// cmd.exe removes the first and the last quote of what follows /c. /e:ON allows %cd:~,%, /v:OFF
	// gives ! no meaning, and /d skips the commands that the user runs at each start.
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

// quoteForBatch writes an argument in quotes, within which cmd.exe interprets only %. It doubles
// each quote and the backslashes before it. After each % it inserts a variable that is always
// empty, so that no two of them enclose a name.
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
