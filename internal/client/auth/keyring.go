package auth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"
)

// A Keyring is the system's store of secrets. It keeps one key, with which the
// tokens in the file are sealed: some keyrings take no more than 2,560 bytes, and
// tokens are larger.
type Keyring struct {
	Getenv func(string) string
	key    []byte
}

const (
	keyringService = "mcpc"
	keyringUser    = "token-file"
	// keyringTime bounds each question: a locked keyring may prompt an absent user.
	keyringTime = 2 * time.Second
)

// Answers reports whether there is a keyring that answers. Where the desktop's bus
// is not running nothing is asked: the question would start one.
func (k *Keyring) Answers() bool {
	if !k.reachable() {
		return false
	}
	_, err := ask(func() (string, error) { return keyring.Get(keyringService, keyringUser) })
	return err == nil || errors.Is(err, keyring.ErrNotFound)
}

func (k *Keyring) reachable() bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	if address := k.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		path, ok := strings.CutPrefix(address, "unix:path=")
		path, _, _ = strings.Cut(path, ",")
		return !ok || exists(path)
	}
	dir := k.Getenv("XDG_RUNTIME_DIR")
	return dir != "" && exists(filepath.Join(dir, "bus"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ask waits at most keyringTime for an answer, then returns the context's error: the
// library has no limit.
func ask(question func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := question()
		answered <- answer{text, err}
	}()
	ctx, stop := context.WithTimeout(context.Background(), keyringTime)
	defer stop()
	select {
	case a := <-answered:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func keyringFailed(err error) error {
	return &Error{Rule: StoreFailed, Text: "the keyring does not return the key of the token store", Err: err,
		Hint: "unlock it, or log in again with --token-store file"}
}

// load gets the key, or makes one where none is there yet.
func (k *Keyring) load(create bool) (cipher.AEAD, error) {
	if k.key == nil {
		if !k.reachable() {
			return nil, keyringFailed(nil)
		}
		text, err := ask(func() (string, error) { return keyring.Get(keyringService, keyringUser) })
		if create && errors.Is(err, keyring.ErrNotFound) {
			key := make([]byte, 32)
			_, _ = rand.Read(key) // it never fails
			text = base64.StdEncoding.EncodeToString(key)
			_, err = ask(func() (string, error) { return "", keyring.Set(keyringService, keyringUser, text) })
		}
		if err != nil {
			return nil, keyringFailed(err)
		}
		k.key, err = base64.StdEncoding.DecodeString(text)
		if err != nil || len(k.key) != 32 {
			k.key = nil
			return nil, keyringFailed(err)
		}
	}
	block, err := aes.NewCipher(k.key)
	if err != nil {
		return nil, keyringFailed(err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (k *Keyring) seal(text string) (string, error) {
	box, err := k.load(true)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, []byte(text), nil)), nil
}

func (k *Keyring) open(sealed string) (string, error) {
	box, err := k.load(false)
	if err != nil {
		return "", err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		raw, err = box.Open(nil, nil, raw, nil)
	}
	if err != nil {
		return "", keyringFailed(err)
	}
	return string(raw), nil
}
