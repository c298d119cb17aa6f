package connect

import (
	"mcpc/internal/state"
)

func LoadState(a *Env) (*state.Store, state.State, error) {
	store, err := state.Open(a.State)
	if err != nil {
		return nil, state.State{}, err
	}
	st, err := store.Load()
	return store, st, err
}
