package target

import (
	"path"
	"slices"
	"strings"
)

// A Client is a program that starts MCP servers, with the place of its configuration.
type Client struct {
	Name, Title string
	// Member is the path in its file to the object with the servers by name. The step $PROJECT is
	// the folder of a project.
	Member []string
	// Project is true if the file is in the folder of a project or above, and belongs to the
	// project: its authors wrote it.
	Project bool
	// paths are the paths of the file by GOOS; "" is for every other system. $HOME, $APPDATA,
	// $CONFIG (~/.config or its equivalent) and $CODEX (~/.codex or its equivalent) are replaced.
	// Any other path is relative to the folder of the project.
	paths map[string]string
	// bareURL is the transport of an entry with a URL and no type; "" is HTTP.
	bareURL Transport
	// Keyring is true if the program stores the values of variables that an entry only names.
	Keyring bool
	// OwnDashes is true if the client interprets a "--" in a command itself.
	OwnDashes bool
	// plainVariables allows variables without braces, $NAME. onlyInputs allows only ${input:ID}.
	plainVariables, onlyInputs bool
}

// CardClient is the client of servers that cards describe. No file has its entries: mcpc makes an
// entry from a card once the user has approved it, and a session stores it.
var CardClient = Client{Name: "card", Title: "a card", Member: codeServers, Project: true, onlyInputs: true}

const (
	vscode    = "$CONFIG/Code/User/"
	clineFile = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
	macFolder = "$HOME/Library/Application Support/"
)

var (
	mcpServers  = []string{"mcpServers"}
	codeServers = []string{"servers"}
	zedServers  = []string{"context_servers"}
	tomlServers = []string{"mcp_servers"}
)

// Clients are the programs whose configuration mcpc reads, and edits if it is JSON or TOML.
var Clients = []Client{
	{Name: "claude-desktop", Title: "Claude Desktop", Member: mcpServers, paths: map[string]string{
		"": "$CONFIG/Claude/claude_desktop_config.json", "windows": "$APPDATA/Claude/claude_desktop_config.json",
		"darwin": macFolder + "Claude/claude_desktop_config.json",
	}},
	{Name: "claude-code", Title: "Claude Code (project)", Member: mcpServers, Project: true, paths: samePath(".mcp.json")},
	{
		Name: "claude-code-local", Title: "Claude Code (local)", Member: []string{"projects", "$PROJECT", "mcpServers"},
		paths: samePath("$HOME/.claude.json"),
	},
	{Name: "claude-code-user", Title: "Claude Code (user)", Member: mcpServers, paths: samePath("$HOME/.claude.json")},
	{Name: "cursor", Title: "Cursor", Member: mcpServers, paths: samePath("$HOME/.cursor/mcp.json")},
	{
		Name:    "cursor-project",
		Title:   "Cursor (project)",
		Member:  mcpServers,
		Project: true,
		paths:   samePath(".cursor/mcp.json"),
	},
	{Name: "vscode", Title: "Visual Studio Code", Member: codeServers, paths: map[string]string{
		"": vscode + "mcp.json", "windows": "$APPDATA/Code/User/mcp.json", "darwin": macFolder + "Code/User/mcp.json",
	}},
	{
		Name:    "vscode-project",
		Title:   "Visual Studio Code (project)",
		Member:  codeServers,
		Project: true,
		paths:   samePath(".vscode/mcp.json"),
	},
	{Name: "windsurf", Title: "Windsurf", Member: mcpServers, paths: samePath("$HOME/.codeium/windsurf/mcp_config.json")},
	{Name: "cline", Title: "Cline", Member: mcpServers, bareURL: SSE, paths: map[string]string{
		"":        vscode + clineFile,
		"windows": "$APPDATA/Code/User/" + clineFile,
		"darwin":  macFolder + "Code/User/" + clineFile,
	}},
	{Name: "codex", Title: "Codex", Member: tomlServers, paths: samePath("$CODEX/config.toml")},
	{
		Name:    "codex-project",
		Title:   "Codex (project)",
		Member:  tomlServers,
		Project: true,
		paths:   samePath(".codex/config.toml"),
	},
	{
		Name:           "gemini",
		Title:          "Gemini CLI",
		Member:         mcpServers,
		bareURL:        SSE,
		plainVariables: true,
		paths:          samePath("$HOME/.gemini/settings.json"),
	},
	{
		Name:           "gemini-project",
		Title:          "Gemini CLI (project)",
		Member:         mcpServers,
		Project:        true,
		bareURL:        SSE,
		plainVariables: true,
		paths:          samePath(".gemini/settings.json"),
	},
	{Name: "zed", Title: "Zed", Member: zedServers, paths: map[string]string{
		"": "$CONFIG/zed/settings.json", "windows": "$APPDATA/Zed/settings.json",
	}},
	{
		Name:    "zed-project",
		Title:   "Zed (project)",
		Member:  zedServers,
		Project: true,
		paths:   samePath(".zed/settings.json"),
	},
	{Name: "goose", Title: "Goose", Member: []string{"extensions"}, Keyring: true, paths: map[string]string{
		"": "$CONFIG/goose/config.yaml", "windows": "$APPDATA/Block/goose/config/config.yaml",
	}},
	{
		Name:      "inspector",
		Title:     "MCP Inspector",
		Member:    mcpServers,
		OwnDashes: true,
		paths:     samePath("$HOME/.mcp-inspector/mcp.json"),
	},
}

func samePath(file string) map[string]string { return map[string]string{"": file} }

// ClientNamed returns a client by its name, or false if the name is unknown.
func ClientNamed(name string) (Client, bool) {
	i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return Clients[i], true
}

// File returns the path of the client's configuration on this system.
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
	codex := getenv("CODEX_HOME")
	if codex == "" {
		codex = path.Join(home, ".codex")
	}
	folders := strings.NewReplacer("$HOME", home, "$CONFIG", config, "$APPDATA", getenv("APPDATA"), "$CODEX", codex)
	return folders.Replace(file)
}

// Editable reports whether Wrap and Unwrap can edit the client's file.
func (c Client) Editable() bool {
	return !strings.HasSuffix(c.paths[""], ".yaml") && !strings.HasSuffix(c.paths[""], ".yml")
}

// OfProjects reports whether the file has a list of servers for each project.
func (c Client) OfProjects() bool { return slices.Contains(c.Member, "$PROJECT") }

// ForProject returns the client with the Member for the project in folder.
func (c Client) ForProject(folder string) Client {
	c.Member = slices.Clone(c.Member)
	for i, step := range c.Member {
		if step == "$PROJECT" {
			c.Member[i] = folder
		}
	}
	return c
}

func isTOML(file string) bool { return strings.HasSuffix(file, ".toml") }
