package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Folder returns the path of the skill's folder below the folder of its server, with slashes: Root
// without the scheme. It fails if the path cannot be a folder on every system.
func (e *Entry) Folder() (string, error) {
	_, rest, _ := strings.Cut(e.Root, "://")
	return rest, checkPath(rest)
}

// Path returns the path of a file relative to the folder of the skill, with slashes. It fails if
// the URI is not in the folder, or if the path cannot be a file on every system.
func (e *Entry) Path(uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, e.Root+"/")
	if !ok {
		return "", fmt.Errorf("%s is not in the folder of the skill", uri)
	}
	return rest, checkPath(rest)
}

// Collision returns an error if two files of the skill have paths that differ only in upper and
// lower case, or if a file is also the folder of another file.
func (e *Entry) Collision() error {
	seen := map[string]string{}
	for _, f := range e.Files {
		name := strings.ToLower(f.URI)
		if other, twice := seen[name]; twice {
			return fmt.Errorf("%s and %s differ only in upper and lower case", other, f.URI)
		}
		seen[name] = f.URI
	}
	for _, f := range e.Files {
		name := strings.ToLower(f.URI)
		// Check each folder above the file.
		for at := strings.LastIndexByte(name, '/'); at > len(e.Root); at = strings.LastIndexByte(name[:at], '/') {
			if other, isFile := seen[name[:at]]; isFile {
				return fmt.Errorf("%s is a file, and the folder of %s", other, f.URI)
			}
		}
	}
	return nil
}

// deviceNames are the names of devices on Windows, with any extension.
var deviceNames = []string{
	"con", "prn", "aux", "nul", "com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7",
	"com8", "com9", "lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

const (
	maxPath    = 1024
	maxSegment = 200
	maxDepth   = 32
)

// checkPath returns an error if a path from a server cannot be a file below a folder on every system. It
// accepts no path that leaves the folder.
func checkPath(p string) error {
	segments := strings.Split(p, "/")
	bad := func(why string) error { return fmt.Errorf("%q is not a path to store: %s", p, why) }
	if p == "" || !utf8.ValidString(p) {
		return bad("it is empty or not UTF-8")
	}
	if len(p) > maxPath || len(segments) > maxDepth {
		return bad("it is too long")
	}
	for _, s := range segments {
		stem, _, _ := strings.Cut(strings.ToLower(s), ".") // Windows takes "con.txt" for the device too
		if s == "" || s == "." || s == ".." {
			return bad("it leaves its folder, or has an empty part")
		}
		if len(s) > maxSegment {
			return bad("a part is too long")
		}
		if strings.ContainsAny(s, "\\:*?\"<>|%#") || hasForbiddenRune(s) {
			return bad(`it has a character of \ : * ? " < > | % #, a space or an invisible character`)
		}
		if strings.HasSuffix(s, ".") {
			return bad("a part ends in a dot")
		}
		if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, "-") {
			return bad("a part begins with a dot, a tilde or a hyphen")
		}
		for _, device := range deviceNames {
			if stem == device {
				return bad(s + " is a device on some systems")
			}
		}
	}
	return nil
}
