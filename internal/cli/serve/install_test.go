package serve_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/target"
	"mcpc/internal/tests/clitest"
)

// In the configuration of every client, serve install writes an entry that mcpc servers reads, and
// serve remove deletes it.
func TestInstallForEachClient(t *testing.T) {
	for _, client := range target.Clients {
		if !client.Editable() {
			continue
		}
		t.Run(client.Name, func(t *testing.T) {
			home := clitest.EnterHome(t)
			home.Env = append(home.Env, "MCPC_STATE=") // another state would be in the entry
			const url = "https://API.example.com:8080/mcp"
			if out := home.MCPC("serve", "install", client.Name, url, "--yes"); out.Code != 0 {
				t.Fatalf("exit code %d: %s", out.Code, out.Stderr)
			}
			folder, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			file := client.File(runtime.GOOS, func(name string) string {
				return map[string]string{"HOME": home.Dir}[name]
			})
			if !filepath.IsAbs(file) {
				file = filepath.Join(folder, file)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := target.Decode(file, text)
			if err != nil {
				t.Fatal(err)
			}
			servers := target.Servers(client, file, folder, doc)
			if len(servers) != 1 || servers[0].Name != "api-example-com" || servers[0].Kind != target.Stdio ||
				servers[0].Problem != "" || !slices.Equal(servers[0].Command[1:], []string{"serve", url}) {
				t.Errorf("%s\nhas the servers %v", text, servers)
			}
			if out := home.MCPC("serve", "remove", client.Name, "api-example-com", "--yes"); out.Code != 0 {
				t.Fatalf("exit code %d: %s", out.Code, out.Stderr)
			}
			if text, err = os.ReadFile(file); err != nil || strings.Contains(string(text), "api") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}
