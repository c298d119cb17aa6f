package target

import (
	"slices"
	"strings"
)

// ServedURL returns the URL that the command of an entry connects to as a bridge: mcpc serve with one
// URL, mcp-remote or supergateway. It returns "" for any other command.
func ServedURL(argv []string) string {
	words := argv[min(BridgeWords(argv), len(argv)):]
	if len(argv) > 2 && SameProgram(argv[0], "mcpc") && argv[1] == "serve" {
		words = argv[2:]
	} else if BridgeWords(argv) == 0 {
		return ""
	}
	isOfFlag := func(i int) bool {
		return i > 0 && strings.HasPrefix(words[i-1], "-") && !strings.Contains(words[i-1], "=")
	}
	url := ""
	for i, word := range words {
		if !isURL(word) || isOfFlag(i) {
			continue
		}
		if url != "" { // several servers
			return ""
		}
		url = word
	}
	return url
}

// isURL reports whether a word is the URL of a server.
func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// BridgeWords returns how many words at the start of a command are the program mcp-remote,
// supergateway or mcp-proxy as a client of a remote server; its URL and flags follow. It returns 0 for
// any other command, and for mcp-proxy with flags, which mcpc serve does not have.
func BridgeWords(argv []string) int {
	if !slices.ContainsFunc(argv, isURL) {
		return 0
	}
	i := slices.IndexFunc(argv, isBridge)
	if i < 0 {
		return 0
	}
	if i+1 < len(argv) && isBridge(argv[i+1]) { // npx -p mcp-remote mcp-remote URL
		i++
	}
	rest := argv[i+1:]
	if packageName(argv[i]) == "mcp-remote" {
		return i + 1
	}
	if packageName(argv[i]) == "mcp-proxy" {
		if len(rest) == 1 && isURL(rest[0]) {
			return i + 1
		}
		return 0
	}
	isClient := len(rest) > 1 && (rest[0] == "--sse" || rest[0] == "--streamableHttp") && isURL(rest[1])
	if !isClient {
		return 0
	}
	return i + 2
}

// isBridge reports whether a word is the program or the package of a bridge that BridgeWords knows.
func isBridge(word string) bool {
	return slices.Contains([]string{"mcp-remote", "supergateway", "mcp-proxy"}, packageName(word))
}

// packageName returns the file name of a program without .exe or .cmd, or the name of a package
// without its version.
func packageName(word string) string {
	name := word[strings.LastIndexAny(word, `/\`)+1:]
	name, _, _ = strings.Cut(name, "@")
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".exe"), ".cmd")
}
