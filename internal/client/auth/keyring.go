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

// A Keyring is the system's store of secrets. It keeps only the key that encrypts the tokens in the
// file: tokens are too large for some keyrings, which accept at most 2,560 bytes.
type Keyring struct {
	Getenv func(string) string
	key    []byte
}

const (
	keyringService = "mcpc"
	keyringUser    = "token-file"
	// keyringTime limits each query: a locked keyring may prompt a user who is not there.
	keyringTime = 2 * time.Second
)

// IsAvailable reports whether the keyring answers. It does not query the keyring if the desktop's
// message bus is not running, because the query would start it.
func (k *Keyring) IsAvailable() bool {
	if !k.isReachable() {
		return false
	}
	_, err := query(func() (string, error) { return keyring.Get(keyringService, keyringUser) })
	return err == nil || errors.Is(err, keyring.ErrNotFound)
}

// isReachable reports whether the system has a keyring, or a message bus that may have one.
func (k *Keyring) isReachable() bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	if address := k.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		path, isSocket := strings.CutPrefix(address, "unix:path=")
		path, _, _ = strings.Cut(path, ",")
		return !isSocket || exists(path) // another kind of address cannot be checked without the bus
	}
	// Without the variable, libraries look for the socket in its usual place.
	dir := k.Getenv("XDG_RUNTIME_DIR")
	return dir != "" && exists(filepath.Join(dir, "bus"))
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// query runs fn and waits at most keyringTime for its result; the keyring library has no timeout. It
// returns the context's error after that.
func query(fn func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := fn()
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

// keyringError returns the error for a keyring that does not return the key.
func keyringError(err error) error {
	return &Error{
		Rule: StoreFailed, Text: "the keyring does not return the key of the token store", Err: err,
		Hint: "unlock it, or log in again with --token-store file",
	}
}

// cipher returns the cipher with the keyring's key, which it keeps. If the keyring has no key, it
// creates one if create is set, else it returns an error.
func (k *Keyring) cipher(create bool) (cipher.AEAD, error) {
	const keySize = 32 // for AES-256
	if k.key == nil {
		if !k.isReachable() {
			return nil, keyringError(nil)
		}
		text, err := query(func() (string, error) { return keyring.Get(keyringService, keyringUser) })
		if create && errors.Is(err, keyring.ErrNotFound) {
			key := make([]byte, keySize)
			_, _ = rand.Read(key) // it never fails
			text = base64.StdEncoding.EncodeToString(key)
			_, err = query(func() (string, error) { return "", keyring.Set(keyringService, keyringUser, text) })
		}
		if err != nil {
			return nil, keyringError(err)
		}
		k.key, err = base64.StdEncoding.DecodeString(text)
		if err != nil || len(k.key) != keySize {
			k.key = nil
			return nil, keyringError(err)
		}
	}
	block, err := aes.NewCipher(k.key)
	if err != nil {
		return nil, keyringError(err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a text with the keyring's key, creating the key if it is missing.
func (k *Keyring) seal(text string) (string, error) {
	const create = true
	box, err := k.cipher(create)
	if err != nil {
		return "", err
	}
	// The cipher chooses the nonce itself and writes it before the text.
	sealed := box.Seal(nil, nil, []byte(text), nil)
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// open decrypts what seal returned. It returns an error if the keyring has no key or another key.
func (k *Keyring) open(sealed string) (string, error) {
	const create = false // a new key would decrypt nothing
	box, err := k.cipher(create)
	if err != nil {
		return "", err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		raw, err = box.Open(nil, nil, raw, nil)
	}
	if err != nil {
		return "", keyringError(err)
	}
	return string(raw), nil
}
