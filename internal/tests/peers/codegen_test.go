//go:build peers

package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The TypeScript and the shell script that are made of server-everything's tools call it twenty
// times: the one over one connection, the other with a process each; three of them run over stdio.
func TestPeerGeneratedCode(t *testing.T) {
	t.Parallel()
	nodes, err := filepath.Glob(filepath.Join(peersDir(t), "inspector", "node_modules", "node-linux-*", "bin", "node"))
	if err != nil || len(nodes) != 1 {
		t.Fatalf("no Node 22 is installed: %v, %v", nodes, err)
	}
	for _, name := range []string{"everything-stdio", "everything-http"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, m, dir := peerNamed(t, name), newRunner(t), t.TempDir()
			target := p.start(t)
			run := func(words ...string) string {
				t.Helper()
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir, cmd.Env = dir, m.environment()
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", words, err, out)
				}
				return string(out)
			}
			for file, text := range map[string]string{
				"tools.ts": m.want(0, with(target, "codegen", "--ts")...).stdout,
				"tools":    m.want(0, with(target, "codegen", "--cli")...).stdout, "main.ts": generatedTypeScript,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for i := range 20 {
				want = append(want, fmt.Sprintf("The sum of %d and 1 is %d.", i, i+1))
			}
			if got := run(nodes[0], "main.ts"); got != strings.Join(want, "\n")+"\n" {
				t.Errorf("TypeScript:\n%s", got)
			}
			processes := 20
			if p.transport == "stdio" {
				processes = 3 // each of them starts a server
			}
			for i := range processes {
				if got := run("sh", "tools", "get-sum", "--a", fmt.Sprint(i), "--b=1"); got != want[i]+"\n" {
					t.Errorf("shell: %s, want %s", got, want[i])
				}
			}
			if opened := strings.Count(m.want(0, "log", "method:initialize", "-n", "0").stdout, "initialize"); name == "everything-stdio" && opened != 3+processes {
				t.Errorf("%d connections, want 2 for the code, 1 for TypeScript and %d for the script", opened, processes)
			}
		})
	}
}

const generatedTypeScript = `import { Client } from "./tools.ts";
const client = new Client();
const sums = await Promise.all(Array.from({ length: 20 }, (_, i) => client.getSum({ a: i, b: 1 })));
for (const sum of sums) console.log(sum.content[0].text);
client.close();
`
