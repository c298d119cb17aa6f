package auth

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// A File keeps bytes that no other user may read: mode 0600, replaced as a whole.
type File interface {
	// Read gives what was last written; nil where nothing was.
	Read() ([]byte, error)
	// Update replaces it under a lock.
	Update(ctx context.Context, change func(old []byte) ([]byte, error)) error
	// Lock takes another lock, under which the file may be read and updated: for what
	// takes longer, and must be done by one process only.
	Lock(ctx context.Context) (release func(), err error)
}

// A Store keeps tokens and clients in a file, their secrets as they are or sealed
// with a key that the system's keyring has.
type Store struct {
	File File
	// Keyring seals what is kept from now on; nil keeps it as it is. What is sealed
	// already is opened with the keyring in any case.
	Keyring *Keyring
	// Seals is set where new secrets are to be sealed.
	Seals bool
}

// Records are one reading of the store. Their secrets are in their stored form.
type Records struct {
	Version int      `json:"version"`
	Tokens  []Token  `json:"tokens,omitempty"`
	Clients []Client `json:"clients,omitempty"`
	// Settings are those of the last logins.
	Settings []Remembered `json:"settings,omitempty"`
	// Pending is the challenge that no login has answered yet.
	Pending *Pending `json:"pending,omitempty"`
}

const recordsVersion = 1

// maxRecordsSize bounds the file, which each command reads: servers write what is in it.
const maxRecordsSize = 4 << 20

// A Token is an access token and all that is needed to use and renew it. It is
// good for its resource, at the word of its issuer, for its client, and belongs to
// one account of the user's.
type Token struct {
	Issuer   string `json:"issuer"`
	Resource string `json:"resource"`
	// OmitResource is set where requests do not name the resource.
	OmitResource bool   `json:"omit_resource,omitempty"`
	Client       string `json:"client"`
	Account      string `json:"account,omitempty"`
	// Endpoint is the server that the token was got for.
	Endpoint string `json:"endpoint"`
	Grant    Grant  `json:"grant"`
	// Since is when the user logged in; renewals keep it. Two logins may be two users.
	Since   time.Time `json:"since,omitzero"`
	Access  Secret    `json:"access"`
	Refresh Secret    `json:"refresh,omitempty"`
	// Key is the one that the token is bound to; "" is a bearer token.
	Key Secret `json:"dpop_key,omitempty"`
	// Expires is zero where the server did not say. OddExpiry is what it said if that is no time, such as 0.
	Expires   time.Time `json:"expires,omitzero"`
	OddExpiry string    `json:"odd_expiry,omitempty"`
	// Scopes were granted, Requested asked for.
	Scopes    []string `json:"scopes,omitempty"`
	Requested []string `json:"requested,omitempty"`
	// TokenEndpoint and Methods are those of the issuer's metadata, as is Revocation.
	TokenEndpoint string   `json:"token_endpoint"`
	Methods       []string `json:"methods,omitempty"`
	// Revocation is where the issuer is told that the token is over; "" is nowhere.
	Revocation string `json:"revocation_endpoint,omitempty"`
}

// named adds the resource to a request for the token.
func (t Token) named(form url.Values) url.Values {
	if !t.OmitResource {
		form.Set("resource", t.Resource)
	}
	return form
}

// A Pending is a challenge that a command could not answer.
type Pending struct {
	Endpoint string    `json:"endpoint"`
	Account  string    `json:"account,omitempty"`
	Status   int       `json:"status"`
	Fields   []string  `json:"www_authenticate,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Load reads the store. Nothing there is an empty book.
func (s *Store) Load() (Records, error) {
	raw, err := s.File.Read()
	if err != nil {
		return Records{}, storeFailed(err)
	}
	return readBook(raw)
}

func readBook(raw []byte) (b Records, err error) {
	if len(raw) == 0 {
		return Records{}, nil
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return Records{}, &Error{
			Rule: StoreFailed,
			Text: "the token file is damaged",
			Hint: wire.Run("state repair") + " replaces it and keeps the old file",
			Err:  err,
		}
	}
	if b.Version > recordsVersion {
		return Records{}, &Error{Rule: StoreFailed, Text: "the token file was written by a newer mcpc"}
	}
	return b, nil
}

// Damaged reports whether raw is no store that any mcpc has written.
func Damaged(raw []byte) bool {
	return len(raw) > 0 && json.Unmarshal(raw, &Records{}) != nil
}

// Change reads, changes and writes the book under the file's lock.
func (s *Store) Change(ctx context.Context, change func(*Records)) error {
	err := s.File.Update(ctx, func(old []byte) ([]byte, error) {
		b, err := readBook(old)
		if err != nil {
			return nil, err
		}
		change(&b)
		b.Version = recordsVersion
		raw, err := json.MarshalIndent(b, "", "\t")
		if len(raw) > max(maxRecordsSize, len(old)) {
			return nil, &Error{
				Rule: StoreFailed,
				Text: "the token file would be larger than 4 MiB; it was not changed",
				Hint: wire.Run("auth") + " lists the tokens, " + wire.Run("logout TARGET") + " deletes one",
			}
		}
		return raw, err
	})
	return storeFailed(err)
}

// Reset forgets everything, also what cannot be read.
func (s *Store) Reset(ctx context.Context) error {
	return storeFailed(
		s.File.Update(ctx, func([]byte) ([]byte, error) { return json.Marshal(Records{Version: recordsVersion}) }),
	)
}

func storeFailed(err error) error {
	if _, own := err.(*Error); err == nil || own {
		return err
	}
	failed := &Error{Rule: StoreFailed, Text: err.Error(), Err: err}
	if hinted, ok := err.(interface{ Hint() wire.Hint }); ok { // the file knows where else it could be
		failed.Hint = hinted.Hint()
	}
	return failed
}

// Token is the one to send to a URL: the account's token whose resource the URL is
// part of, the narrowest where there are several. Of two for the same resource, the
// newer one.
func (b *Records) Token(at, account string) (best Token, ok bool) {
	for _, t := range b.Tokens {
		if t.Account == account && Covers(t.Resource, at) && (!ok || Covers(best.Resource, t.Resource)) {
			best = t
			ok = true
		}
	}
	return best, ok
}

// put keeps a token in place of the account's other ones for that resource: one of
// another issuer, or of another client, is no longer wanted.
func (b *Records) put(t Token) {
	b.Drop(func(old Token) bool { return old.Account == t.Account && old.Resource == t.Resource })
	b.Tokens = append(b.Tokens, t)
}

// Drop forgets the tokens that are meant, and tells how many those were.
func (b *Records) Drop(meant func(Token) bool) int {
	before := len(b.Tokens)
	b.Tokens = slices.DeleteFunc(b.Tokens, meant)
	return before - len(b.Tokens)
}

// client is the client that is known to an issuer, and to no other, for a grant: of
// several the newest.
func (b *Records) client(issuer string, origin Origin, g Grant) (newest Client, ok bool) {
	for _, c := range b.Clients {
		if c.Issuer == issuer && c.Origin == origin && c.Grant == g {
			newest = c
			ok = true
		}
	}
	return newest, ok
}

// scopesOf returns the scopes that a client may request: those that it registered for, and has requested before.
func (b *Records) scopesOf(c Client) []string {
	all := c.Scopes
	for _, t := range b.Tokens {
		if c.has(t) {
			all = union(all, t.Requested)
		}
	}
	return all
}

// of is the client that a token was issued to.
func (b *Records) of(t Token) Client {
	at := slices.IndexFunc(b.Clients, func(c Client) bool { return c.has(t) })
	if at < 0 {
		return Client{Issuer: t.Issuer, ID: t.Client}
	}
	return b.Clients[at]
}

// putClient keeps a client in place of those that no token is of any more.
func (b *Records) putClient(c Client) {
	if c.Origin == Document {
		return // it is known everywhere, and by its address
	}
	b.Clients = slices.DeleteFunc(b.Clients, func(old Client) bool {
		return old.Issuer == c.Issuer && old.Origin == c.Origin && old.Grant == c.Grant &&
			(old.ID == c.ID || !slices.ContainsFunc(b.Tokens, old.has))
	})
	b.Clients = append(b.Clients, c)
}

// A Secret is a secret as it is stored: as it is, or sealed.
type Secret string

const (
	plainMark  = "plain:"
	sealedMark = "sealed:"
)

// Sealed reports whether the secret can be read with the keyring's key only.
func (s Secret) Sealed() bool { return strings.HasPrefix(string(s), sealedMark) }

// Seal gives the stored form of a secret; that of none is none.
func (s *Store) Seal(text string) (Secret, error) {
	if text == "" {
		return "", nil
	}
	if !s.Seals {
		return Secret(plainMark + text), nil
	}
	sealed, err := s.Keyring.seal(text)
	return Secret(sealedMark + sealed), err
}

// Open gives the secret itself.
func (s *Store) Open(stored Secret) (string, error) {
	if text, ok := strings.CutPrefix(string(stored), sealedMark); ok {
		if s.Keyring == nil {
			return "", keyringFailed(nil)
		}
		return s.Keyring.open(text)
	}
	return strings.TrimPrefix(string(stored), plainMark), nil
}
