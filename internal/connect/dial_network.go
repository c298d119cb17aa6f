package connect

import (
	"cmp"

	"mcpc/internal/client"
)

// SetNetwork settles the way of a conversation by HTTP.
func (c *Conn) SetNetwork(opt *client.Options) error {
	if opt.Server.URL == "" {
		return nil
	}
	w, err := c.Env.NetworkFor(opt.Server.URL, cmp.Or(c.Saved, c.OneOff).Reach)
	if err != nil {
		return err
	}
	opt.TLS, opt.Pins, opt.Proxy = w.TLS, w.Pins, w.ProxyFunc
	return nil
}
