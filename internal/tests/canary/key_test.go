package canary

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"
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

// findKeys looks for a part of a line of each key, as it is, in base64 and in hexadecimal digits.
func findKeys(t *testing.T, where string, keys []string, text []byte) {
	t.Helper()
	for i, key := range keys {
		line := strings.Split(key, "\n")[1]
		for _, form := range []string{
			line[8:48], base64.StdEncoding.EncodeToString([]byte(line[9:39]))[2:36], base64.StdEncoding.EncodeToString([]byte(line[10:40]))[2:36],
			base64.StdEncoding.EncodeToString([]byte(line[11:41]))[2:36], hex.EncodeToString([]byte(line[8:32])),
		} {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				t.Errorf("%s has the key %d (%s): ...%s", where, i, strings.Split(key, "\n")[0], text[max(0, at-200):min(len(text), at+60)])
				return
			}
		}
	}
}
