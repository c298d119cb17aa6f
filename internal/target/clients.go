package target

import (
	"path"
	"slices"
	"strings"
)

// A Client is a program that starts MCP servers of its own, and where it keeps what
// it starts.
type Client struct {
	Name, Title string
	// Member is the member of its file that holds the servers by name.
	Member string
	// paths are where the file is, by GOOS; "" is for those that have no line of
	// their own. $HOME, $APPDATA and $CONFIG, which is ~/.config or what stands for it,
	// are replaced; a path without them is below the current directory.
	paths map[string]string
}

const vscode = "$CONFIG/Code/User/"

// Clients are those whose configuration mcpc can edit.
var Clients = []Client{
	{"claude-desktop", "Claude Desktop", "mcpServers", map[string]string{
		"": "$CONFIG/Claude/claude_desktop_config.json", "windows": "$APPDATA/Claude/claude_desktop_config.json",
		"darwin": "$HOME/Library/Application Support/Claude/claude_desktop_config.json"}},
	{"claude-code", "Claude Code, in this project", "mcpServers", map[string]string{"": ".mcp.json"}},
	{"cursor", "Cursor", "mcpServers", map[string]string{"": "$HOME/.cursor/mcp.json"}},
	{"vscode", "Visual Studio Code", "servers", map[string]string{
		"": vscode + "mcp.json", "windows": "$APPDATA/Code/User/mcp.json",
		"darwin": "$HOME/Library/Application Support/Code/User/mcp.json"}},
	{"vscode-project", "Visual Studio Code, in this project", "servers", map[string]string{"": ".vscode/mcp.json"}},
	{"windsurf", "Windsurf", "mcpServers", map[string]string{"": "$HOME/.codeium/windsurf/mcp_config.json"}},
	{"cline", "Cline", "mcpServers", map[string]string{
		"":        vscode + clineFile,
		"windows": "$APPDATA/Code/User/" + clineFile,
		"darwin":  "$HOME/Library/Application Support/Code/User/" + clineFile}},
	{"gemini", "Gemini CLI", "mcpServers", map[string]string{"": "$HOME/.gemini/settings.json"}},
	{"zed", "Zed", "context_servers", map[string]string{"": "$CONFIG/zed/settings.json", "windows": "$APPDATA/Zed/settings.json"}},
}

const clineFile = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

// ClientNamed gives a client by its name; false where there is none.
func ClientNamed(name string) (Client, bool) {
	i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return Clients[i], true
}

// File is where the client keeps its servers on this system.
func (c Client) File(goos string, getenv func(string) string) string {
	file, ok := c.paths[goos]
	if !ok {
		file = c.paths[""]
	}
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	config := getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = path.Join(home, ".config")
	}
	return strings.NewReplacer("$HOME", home, "$CONFIG", config, "$APPDATA", getenv("APPDATA")).Replace(file)
}
