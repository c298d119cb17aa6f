//go:build peers

package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/tests/program"
)

// A desktop's keyring, GNOME's, on a separate bus: if it is open, mcpc keeps its key there, seals
// the tokens, and reads them only with it. If it is locked, and no user is there to open it, the
// tokens are in the file, and nothing waits.
//
// authorization 59
func TestPeerKeyring(t *testing.T) {
	t.Parallel()
	target := startProtectedDemo(t) + "/mcp"
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("demo-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := "mcpc login " + target + " --grant client_credentials --client-id demo --client-secret-file " + shellWords([]string{secret})
	home, state := t.TempDir(), t.TempDir()
	session := func(daemon string, lines ...string) string {
		t.Helper()
		cmd := exec.Command("dbus-run-session", "--", "sh", "-ec", daemon+" >/dev/null 2>&1\n"+strings.Join(lines, "\n"))
		cmd.Env = append(program.CleanEnv(), "HOME="+home, "XDG_RUNTIME_DIR="+t.TempDir(), "MCPC_STATE="+state, "MCPC_SERVER=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	finds := func(out string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%q is not in\n%s", text, out)
			}
		}
	}
	open := "printf pass | gnome-keyring-daemon --unlock --components=secrets"
	finds(session(open, login, "mcpc auth", "mcpc -s "+target+" list --jq '.tools|length'", "mcpc login "+target+" --token-store keyring"),
		"encrypted, the key in the keyring", "refreshed automatically\tkeyring\n", "24\n")
	if kept := program.Read(t, filepath.Join(state, host.TokensName)); strings.Contains(kept, "demo-") || !strings.Contains(kept, `"sealed:`) {
		t.Errorf("kept\n%s", kept)
	}
	// The same keyring in another session, and then a locked one.
	finds(session(open, "mcpc -s "+target+" list --jq '.tools|length'"), "24\n")
	locked := "gnome-keyring-daemon --start --components=secrets"
	finds(session(locked, "mcpc -s "+target+" list || echo ended with $?", login+" --token-store keyring || echo ended with $?", login, "mcpc auth"),
		"the keyring does not return the key of the token store", "hint: unlock it, or log in again with --token-store file", "no keyring is available",
		"ended with 13\n", "a file with mode 0600", "refreshed automatically\tfile\n")
	if kept := program.Read(t, filepath.Join(state, host.TokensName)); !strings.Contains(kept, "plain:demo-access-") {
		t.Errorf("kept\n%s", kept)
	}
}
