package main

import "github.com/spf13/cobra"

// newTargets is the topic `mcpc help targets`.
func newTargets() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "naming a server, and which servers need approval",
		Long: `Name a server with -s, or give its command after --, at the end:

  mcpc list -s https://mcp.example/mcp       a URL, used once
  mcpc list -s box                           a session (mcpc sessions)
  mcpc list -s github                        a server of another program
  mcpc list -s cursor:github                 that program's server
  mcpc list -s demo                          the built-in demo server
  mcpc list -- npx -y some-server --flag     the command of a stdio server

list, info, ping, listen and codegen also take a URL without -s.

-s takes precedence over the variable MCPC_SERVER, which takes precedence over
the session of the last mcpc init; the default is http://localhost:3001/mcp. A
name is looked up as demo, then as a session, then as a server of another
program.

Servers of other programs
  mcpc servers reads the configurations of Claude Desktop, Claude Code, Cursor,
  Visual Studio Code, Windsurf, Cline, Codex, Gemini CLI, Zed, Goose and MCP
  Inspector, for the user and for the project: .mcp.json and similar files are
  searched in this directory and its parents. The files are only read. If some
  files have different servers with one name, use PROGRAM:NAME.

  mcpc list --all and mcpc grep WORD query all of them.

Approval
  A command from a file runs only after you have seen all of it and approved it;
  so does everything from a project's file, URLs included, because others may
  have written it. "always", and mcpc trust NAME, remember the approval by a
  hash of the command, the directory, the names of variables and header fields
  and the variables used in them. A change needs a new approval. Without a
  terminal the exit code is 12. URLs in your own files need no approval.

  Destructive tools, and all tools of servers that are not trusted, need a
  confirmation for each call: --yes confirms one call. With --confirm=always
  mcpc asks before every call, with --confirm=never before none; neither runs a
  command that was not approved. mcpc raw never asks.

Variables and secrets
  ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, ${workspaceFolder} and
  ${userHome} are expanded when the server is used, and in Gemini CLI's files
  $NAME too. An input is prompted for, or taken from MCPC_INPUT_ID. Values are
  never shown, recorded or stored: a session stores only where its server is
  configured. A header field is sent only to the URL of its entry, and a server
  process gets its own variables and those that every program needs (PATH, HOME,
  proxies), not the rest of your environment.`,
	}
}
