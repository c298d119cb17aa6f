package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// manyKeys is how many private keys the server has.
const manyKeys = 20

// privateKeys makes private keys of several kinds, as PEM.
func privateKeys(t *testing.T) (all []string) {
	t.Helper()
	add := func(name string, der []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: name, Bytes: der})))
	}
	fast, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	add("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(fast), nil)
	for i := 1; i < manyKeys; i++ {
		_, small, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		random := make([]byte, 300)
		_, _ = rand.Read(random)
		switch i % 5 {
		case 0:
			der, err := x509.MarshalPKCS8PrivateKey(small)
			add("PRIVATE KEY", der, err)
		case 1:
			der, err := x509.MarshalECPrivateKey(curve)
			add("EC PRIVATE KEY", der, err)
		default: // these are random: no one looks into them
			name := []string{"OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"}[i%5-2]
			add(name, random, nil)
		}
	}
	return all
}

// keyForms write a key in six forms. The first two write it as it is; encoding it in JSON escapes its line ends.
var keyForms = []func(key string) string{
	func(key string) string { return key },
	func(key string) string { return strings.ReplaceAll(key, "\n", "\r\n") },
	func(key string) string { return strings.ReplaceAll(key, "\n", `\n`) },
	func(key string) string { return strings.ReplaceAll(key, "\n", `\\n`) },
	func(key string) string { return strings.ReplaceAll(strings.TrimSpace(key), "\n", " ") },
	func(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) },
}

// keysAt is a text with every key, each in another form, and in another one at each place.
func keysAt(keys []string, place int) string {
	var all []string
	for i, key := range keys {
		all = append(all, "key: "+keyForms[(i+place)%len(keyForms)](key))
	}
	return strings.Join(all, "; ")
}

// keyHolder is a server whose lists, results and messages have the keys in the file that is its argument.
func keyHolder() {
	raw, err := os.ReadFile(os.Args[1])
	var keys []string
	if err == nil {
		err = json.Unmarshal(raw, &keys)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text := func(place int) string { return string(jsonraw.Quote(keysAt(keys, place))) }
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		m := wire.ParseMessage(in.Bytes())
		if m.Kind != wire.Request {
			continue
		}
		result := ""
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"n","version":"1"},"instructions":` + text(0) + `}`
		case "tools/list":
			result = `{"tools":[{"name":"a b","description":` + text(1) + `,"inputSchema":{"type":"object","properties":{"x":{"type":"string","default":` + text(2) + `}}}}]}`
		case "resources/list":
			result = `{"resources":[{"name":"r","uri":"x://h/?a=` + url.QueryEscape(keysAt(keys, 3)) + `"},{"name":"bad","uri":` + text(4) + `}]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":` + text(5) + `}],"structuredContent":{"a":` + text(2) + `}}`
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%s}}`+"\n", text(1))
		case "ping":
			result = `{}`
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%s}}`+"\n", m.ID, text(3))
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// TestNoPrivateKeyIsKeptOrReported looks for 20 keys in six forms in every file and report of the commands
// that read a server's lists and results.
func TestNoPrivateKeyIsKeptOrReported(t *testing.T) {
	t.Parallel()
	b := canaryBench{t, t.TempDir()}
	keys := privateKeys(t)
	raw, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	hidden := t.TempDir() // with the keys, so it is not looked at
	source := filepath.Join(hidden, "keys.json")
	if err := os.WriteFile(source, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "values"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(b.dir, name) }
	argument := "x=" + keysAt(keys, 0)
	run := func(stdout bool, args ...string) []byte {
		t.Helper()
		cmd := b.command(args...)
		var out, said bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = &said
		_ = cmd.Run() // some fail: the server is none of the best
		findKeys(t, "standard error of "+args[0], keys, said.Bytes())
		if stdout {
			findKeys(t, "the report of "+strings.Join(args, " "), keys, out.Bytes())
		}
		if len(out.Bytes()) == 0 && len(said.Bytes()) == 0 {
			t.Errorf("%v says nothing", args)
		}
		return out.Bytes()
	}
	server := []string{"--", "keyholder", source}
	on := func(args ...string) []string { return append(args, server...) }
	if out := run(false, on("call", "a b", argument, "--yes", "--no-validate", "--json")...); !bytes.Contains(out, []byte("PRIVATE KEY")) {
		t.Errorf("the result on stdout is %.300s", out)
	}
	if out := run(false, on("list", "all", "--json")...); !bytes.Contains(out, []byte("PRIVATE KEY")) {
		t.Errorf("the list on stdout is %.300s", out)
	}
	run(true, on("check", "--json", "--sarif", file("c.sarif"), "--junit", file("c.xml"), "--markdown", file("c.md"), "--record", file("check.jsonl"))...)
	run(true, on("check")...)
	run(true, "check", file("check.jsonl"), "--json", "--sarif", file("d.sarif"), "--junit", file("d.xml"), "--markdown", file("d.md"))
	run(true, on("diff", "--lock", "-o", file("lock.json"))...)
	if out := run(true, on("diff", file("lock.json"), "--markdown", file("diff.md"))...); !bytes.Contains(out, []byte("nothing changed")) {
		t.Errorf("diff says %.500s", out)
	}
	run(false, on("init", "--keep", "--as", "kept")...)
	if out := run(false, "info", "--json", "-s", "kept"); !bytes.Contains(out, []byte("PRIVATE KEY")) {
		t.Errorf("info of a kept server says %.300s", out)
	}
	run(false, "close", "kept")
	run(true, "log", "--json")
	run(true, "stats")
	run(true, "show", "1", "--json")
	run(true, "export", "1", "--as", "har", "-o", file("1.har"))
	run(true, "export", "1", "--as", "bundle", "--yes", "-o", file("1.mcpcz.html"))
	for _, form := range keyForms {
		name := filepath.Join(hidden, "one")
		if err := os.WriteFile(name, []byte(form(keys[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := run(true, "export", "--check", name); !bytes.Contains(out, []byte("one:1:1: ")) {
			t.Errorf("export --check of %.60q says %s", form(keys[0]), out)
		}
	}
	files := 0
	err = filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		findKeys(t, path, keys, raw)
		return err
	})
	if err != nil || files < 12 {
		t.Errorf("%d files: %v", files, err)
	}
}

// findKeys looks for a part of a line of each key, as it is, in base64 and in hexadecimal digits.
func findKeys(t *testing.T, where string, keys []string, text []byte) {
	t.Helper()
	for i, key := range keys {
		line := strings.Split(key, "\n")[1]
		for _, form := range []string{line[8:48], base64.StdEncoding.EncodeToString([]byte(line[9:39]))[2:36], base64.StdEncoding.EncodeToString([]byte(line[10:40]))[2:36],
			base64.StdEncoding.EncodeToString([]byte(line[11:41]))[2:36], hex.EncodeToString([]byte(line[8:32]))} {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				t.Fatalf("%s has the key %d (%s): ...%s", where, i, strings.Split(key, "\n")[0], text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
}
