package target

import (
	"strings"
	"testing"
)

// No value of a variable or header field is shown, however it is written and whose it
// is; all else is.
func TestValuesInClientFilesAreHidden(t *testing.T) {
	for name, c := range map[string]struct {
		client     Client
		text       string
		gone, stay []string
	}{
		"JSON": {
			inServers, `{"servers":{"a":{"command":"npx","args":["-y"],"env":{"PGPASS":"hunter3","DSN":"hunter4","N":5432,"E":""}},
			"b":{"url":"http://x/mcp","headers":{"X-Note":"hunter5","X-List":["hunter6"]},"requestInit":{"Headers":{"X":"hunter7"}}}}}`,
			[]string{"hunter", "5432"},
			[]string{"PGPASS", "DSN", `"E":""`, `"command":"npx","args":["-y"]`, "X-Note", "http://x/mcp"},
		},
		"comments": {
			inServers, "{\"servers\": {\"a\": {\"command\": \"npx\", // kept\n\"envs\": {\n// \"OLD\": \"hunter1\",\n\"A\": \"hunter2\", /* hunter3 */\n},\n}}}",
			[]string{"hunter"},
			[]string{"// kept", `"A":`},
		},
		"a list":    {inServers, `{"servers":{"a":{"command":"npx","env":["A=hunter1"]}}}`, []string{"hunter"}, []string{`"npx"`}},
		"elsewhere": {inServers, `{"env":{"A":"hunter1"},"x":[{"environment":{"B":"hunter2"}}],"servers":{}}`, []string{"hunter"}, []string{`"B":`}},
		"arguments": {
			inServers, `{"servers":{"a":{"args":["--oauth2Bearer","hunter1","--header","X-A: hunter2","-x",7]},"b":{"command":["c","--password","h"]}}}`,
			[]string{"hunter", `"h"`},
			[]string{`"-x",7`, "X-A: ", `["c","--password",`},
		},
		"TOML arguments": {
			inTOML, "[mcp_servers.a]\nargs = [ # kept\n'--password', 'hunter1',\n\"--header\", \"X-A: hunter2\", 'stays',\n]\n",
			[]string{"hunter"},
			[]string{"# kept", "X-A: ", "'stays'"},
		},
		"escapes":               {inServers, `{"servers":{"a":{"\u0065nv":{"A":"hunter\"1"}}}}`, []string{"hunter"}, []string{`"A":`}},
		"a server named so":     {inServers, `{"servers":{"env":{"command":"npx","env":{"A":"hunter1"}}}}`, []string{"hunter"}, []string{`"command":"npx"`}},
		"deep":                  {inServers, strings.Repeat(`{"a":`, 3000) + `{"env":{"A":"hunter1"}}` + strings.Repeat("}", 3000), []string{"hunter"}, nil},
		"no JSON":               {inServers, `{"env":{"A":"hunter1"}`, []string{"hunter"}, nil},
		"TOML":                  {inTOML, "[mcp_servers.a.env] # hunter0\nA = \"hunter1\" # hunter2\n# OLD = 'hunter3'\nB = '''\nhunter4=\nhunter5'''\nC = 5432\n[mcp_servers.a] # kept\ncommand = \"npx\" # kept too\n", []string{"hunter", "5432"}, []string{"A = ", "C = ", "] # kept", `"npx" # kept too`}},
		"TOML in braces":        {inTOML, "[mcp_servers]\na = { command = \"npx\", env = { A = \"hunter1\", B = [ 'hunter2', { C = true } ] }, http_headers.X = 'hunter3' }\n", []string{"hunter", "true"}, []string{`command = "npx"`, "A = ", "X = "}},
		"TOML with dots":        {inTOML, "mcp_servers.a.command = 'npx'\nmcp_servers.a.env.A = 'hunter1' # hunter2\nmcp_servers.a.env.B = 1979-05-27\n", []string{"hunter", "1979"}, []string{"'npx'"}},
		"TOML below values":     {inTOML, "[[mcp_servers.a.headers.x]]\nA = 'hunter1'\n", []string{"hunter"}, []string{"A = "}},
		"TOML, a server so":     {inTOML, "[mcp_servers.env]\ncommand = 'npx'\nenv = {A = 'hunter1'}\n", []string{"hunter"}, []string{"'npx'"}},
		"TOML that breaks off":  {inTOML, "[mcp_servers.a.env]\nA = 'hunter1", []string{"hunter"}, nil},
		"TOML, a list of names": {inTOML, "[mcp_servers.a]\ncommand = 'npx'\nenv_vars = ['hunter1']\n", []string{"hunter"}, []string{"'npx'"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(c.client.Hidden([]byte(c.text)))
			for _, gone := range c.gone {
				if strings.Contains(got, gone) {
					t.Errorf("%s is shown: %.2000s", gone, got)
				}
			}
			for _, stay := range c.stay {
				if !strings.Contains(got, stay) {
					t.Errorf("%s is not shown: %.2000s", stay, got)
				}
			}
		})
	}
}
