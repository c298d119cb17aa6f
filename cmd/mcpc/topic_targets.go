package main

import "github.com/spf13/cobra"

// newTargets is the topic `mcpc help targets`.
func newTargets() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "naming a server, and what is confirmed before it is used",
		Long: `A server is named with -s, or its command stands at the end behind --:

  mcpc list -s https://mcp.example/mcp       a URL, used once
  mcpc list -s box                           a session (mcpc sessions)
  mcpc list -s github                        a server of another program's
  mcpc list -s cursor:github                 the one of that program
  mcpc list -s demo                          the server in the box
  mcpc list -- npx -y some-server --flag     a command to speak stdio with

list, info, ping, listen and codegen take a URL without -s as well.

-s wins over the variable MCPC_SERVER, that over the session of the last
mcpc init, and without any of them it is http://localhost:3001/mcp. Of several
things with one name demo is meant first, then a session, then another program's
server.

Servers of other programs
  mcpc servers finds what Claude Desktop, Claude Code, Cursor, Visual Studio
  Code, Windsurf, Cline, Codex, Gemini CLI, Zed, Goose and MCP Inspector are
  configured with, for you and in the project that you are in: .mcp.json and
  the like are looked for in this folder and those above. The files are only
  read. Where a name stands in several of them and the servers differ, -s takes
  PROGRAM:NAME.

  mcpc list --all and mcpc grep WORD ask all of them at once.

What is asked first
  A command from a file runs once you have seen it whole and said yes; so does
  whatever a project brings, URLs too, since somebody else may have written it.
  "always", and mcpc trust NAME, remember that by a hash of the command, the
  folder, the names of variables and header fields and the variables that they
  are made of. When one of them changes mcpc asks again. Where nobody can be
  asked the exit code is 12. A URL in a file of your own is spoken to.

  A tool that declares itself destructive is asked about before each call, and
  every tool of a server that is not trusted: --yes says yes for one call.
  --confirm always asks about every call, --confirm never about none; neither
  runs a command that was not confirmed. mcpc raw asks about no call.

Variables and secrets
  ${NAME}, ${NAME:-other}, ${env:NAME}, ${input:ID}, ${workspaceFolder} and
  ${userHome} get their values when the server is used, and from Gemini CLI's
  files $NAME too. An input is asked for, or taken from MCPC_INPUT_ID. Values
  are never shown, recorded or kept: a session remembers where its server
  stands. A header field goes to the URL that it stands beside, and a server
  that is started gets its own variables and those that every program needs
  (PATH, HOME, proxies), not the others of your shell.`,
	}
}
