package host

import (
	"mcpc/internal/client/auth"
	"mcpc/internal/state"
)

func (e *Env) LoadState() (*state.Store, state.State, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, state.State{}, err
	}
	st, err := store.Load()
	return store, st, err
}

// TokensName is the file of the tokens within the state's directory.
const TokensName = "auth.json"

// Tokens opens the store of the tokens. The login settles where new ones are kept.
func (e *Env) Tokens() (*auth.Store, error) {
	store, err := state.Open(e.State)
	if err != nil {
		return nil, err
	}
	return &auth.Store{File: store.Private(TokensName), Keyring: &auth.Keyring{Getenv: e.Getenv}}, nil
}
