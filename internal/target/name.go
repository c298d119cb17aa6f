package target

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxName is the longest name of a session.
const maxName = 64

const (
	letters        = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits         = "0123456789"
	nameCharacters = letters + digits + "_-"
)

// ValidName checks the name of a new session. A valid name is one word in every shell, and cannot
// be a flag, a host, a URL, a file or "demo". The error is an [*Error].
func ValidName(name string) error {
	invalid := func(text string) error {
		return newError("name", FromFlag, text, "use letters, digits, '_' and '-', such as local-3001")
	}
	if name == "" {
		return invalid("the session's name is empty")
	}
	if len(name) > maxName {
		return invalid(fmt.Sprintf("the session's name is longer than %d characters", maxName))
	}
	if !hasOnly(name, nameCharacters) {
		return invalid(fmt.Sprintf("the session's name %q has an invalid character", name))
	}
	if strings.IndexByte("_-", name[0]) >= 0 {
		return invalid(fmt.Sprintf("the session's name %q does not start with a letter or digit", name))
	}
	if strings.EqualFold(name, demoName) {
		return newError("name", FromFlag, fmt.Sprintf("%q is the built-in demo server", name), "choose another name")
	}
	return nil
}

// hasOnly reports whether s has only characters of set.
func hasOnly(s, set string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(set, r) }) < 0
}

// NameFor proposes a name for a session with a target: short, readable, valid, and not taken. A
// session keeps its name. The name has nothing from a URL or a command that can be a secret: no
// query, and of a path only a plain word.
func NameFor(t Target, taken func(string) bool) string {
	var base string
	switch t.Kind {
	case URL:
		base = nameForURL(t.URL)
	case Command:
		base = nameForCommand(t.Command)
	case Session:
		return t.Name
	case Known:
		base = t.Name[strings.LastIndexAny(t.Name, ":/")+1:]
	case Demo:
		base = "demo-server"
	}
	base = cleanName(base)
	if ValidName(base) != nil {
		base = "server"
	}
	name := base
	if base == "server" {
		name = "server-1" // in a hint, server alone reads like a placeholder
	}
	for n := 2; taken(name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// cleanName replaces the characters that a name cannot have. Its result may still be invalid.
func cleanName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if strings.ContainsRune(nameCharacters, r) {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	s = b.String()
	return strings.Trim(s[:min(len(s), maxName/2)], "-_") // a number may be added
}

// commonLabels, at the start of a host name, and commonWords, in a path, do not tell one server from
// another.
var (
	commonLabels = []string{"mcp", "www", "api"}
	commonWords  = []string{"mcp", "sse", "api", "http", "server", "stream", "message", "messages"}
)

// nameForURL returns the host without its common labels, the port, and the last word of the path
// that is not common: localhost-3001, notion, localhost-8080-weather.
func nameForURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	parts := []string{shortHost(u.Hostname())}
	if u.Port() != "" {
		parts = append(parts, u.Port())
	}
	words := strings.Split(u.Path, "/")
	slices.Reverse(words)
	for _, w := range words {
		// Longer parts, or parts with digits, can be identifiers or tokens.
		isWord := len(w) >= 3 && len(w) <= 16 && hasOnly(w, "abcdefghijklmnopqrstuvwxyz-")
		if isWord && !slices.Contains(commonWords, strings.ToLower(w)) {
			parts = append(parts, w)
			break
		}
	}
	return strings.Join(parts, "-")
}

// shortHost returns a host without its top-level domain and the common labels at its start, its
// labels joined by hyphens: "notion" for mcp.notion.com. It returns localhost for a loopback
// address, and another address unchanged.
func shortHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.IsLoopback() {
			return "localhost"
		}
		return host
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(labels) > 1 {
		labels = labels[:len(labels)-1]
	}
	for len(labels) > 1 && slices.Contains(commonLabels, labels[0]) {
		labels = labels[1:]
	}
	return strings.Join(labels, "-")
}

// runners start other programs: their first argument that is not a flag has the name.
var runners = []string{
	"npx",
	"bunx",
	"pnpx",
	"uvx",
	"pipx",
	"uv",
	"node",
	"bun",
	"deno",
	"tsx",
	"python",
	"python3",
	"go",
	"sh",
	"bash",
	"env",
}

// runnerWords are subcommands of runners.
var runnerWords = []string{"run", "exec", "tool", "dlx", "x"}

// nameForCommand returns the name of the program: everything for npx -y
// @modelcontextprotocol/server-everything.
func nameForCommand(argv []string) string {
	program := programName(argv[0])
	if !slices.Contains(runners, program) {
		return program
	}
	for _, word := range argv[1:] {
		if strings.HasPrefix(word, "-") || slices.Contains(runnerWords, word) {
			continue
		}
		// A word with a "=" or a space is a setting or a script, not a name.
		if name := programName(word); hasOnly(word, nameCharacters+".@/\\:~") && name != "" {
			return name
		}
		break
	}
	return program
}

// programName returns the last part of a path or a package's name, without its version, its
// extension and words such as mcp-server.
func programName(word string) string {
	name := path.Base(strings.ReplaceAll(word, "\\", "/"))
	if i := strings.IndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	for _, extension := range []string{".exe", ".js", ".mjs", ".cjs", ".ts", ".py", ".go", ".sh"} {
		name = strings.TrimSuffix(name, extension)
	}
	for _, common := range []string{"mcp-server-", "mcp_server_", "server-", "mcp-"} {
		if rest, ok := strings.CutPrefix(name, common); ok && rest != "" {
			return rest
		}
	}
	for _, common := range []string{"-mcp-server", "-mcp"} {
		if rest, ok := strings.CutSuffix(name, common); ok && rest != "" {
			return rest
		}
	}
	return name
}
