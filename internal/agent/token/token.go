// Package token lets the two ends of a stream over a network prove to each other that they know a
// secret, without revealing it. Nobody else on the network can then run commands in a guest or pose
// as a guest.
//
//	agent → host: 32 random bytes
//	host → agent: 32 random bytes, HMAC(token, "host", both)
//	agent → host: HMAC(token, "agent", both)
//
// The stream itself is not encrypted.
package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Size is the length in bytes of a token, a nonce and a proof.
const Size = 32

// ErrWrong means that the other end does not know the token.
var ErrWrong = errors.New("the other end does not know the token")

const (
	shakeTimeout = 10 * time.Second
	// maxTries is how many connections without the token an agent refuses before it gives up.
	maxTries = 100
)

// New returns a fresh token, or a nonce.
func New() []byte {
	b := make([]byte, Size)
	rand.Read(b) // never fails
	return b
}

func proof(token []byte, who string, nonces ...[]byte) []byte {
	h := hmac.New(sha256.New, token)
	h.Write([]byte(who))
	for _, n := range nonces {
		h.Write(n)
	}
	return h.Sum(nil)
}

// Host runs the host's side of the handshake on a new connection, which it does not close. It
// returns ErrWrong if the agent does not know the token.
func Host(conn net.Conn, token []byte) error {
	conn.SetDeadline(time.Now().Add(shakeTimeout))
	defer conn.SetDeadline(time.Time{})
	theirs, ours := make([]byte, Size), New()
	if _, err := io.ReadFull(conn, theirs); err != nil {
		return err
	}
	if _, err := conn.Write(append(ours, proof(token, "host", theirs, ours)...)); err != nil {
		return err
	}
	answer := make([]byte, Size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return fmt.Errorf("%w, or rejects our proof: %w", ErrWrong, err)
	}
	if !hmac.Equal(answer, proof(token, "agent", theirs, ours)) {
		return ErrWrong
	}
	return nil
}

// agent runs the agent's side.
func agent(conn net.Conn, token []byte) error {
	conn.SetDeadline(time.Now().Add(shakeTimeout))
	defer conn.SetDeadline(time.Time{})
	ours := New()
	if _, err := conn.Write(ours); err != nil {
		return err
	}
	said := make([]byte, 2*Size)
	if _, err := io.ReadFull(conn, said); err != nil {
		return err
	}
	theirs := said[:Size]
	if !hmac.Equal(said[Size:], proof(token, "host", ours, theirs)) {
		return ErrWrong
	}
	_, err := conn.Write(proof(token, "agent", ours, theirs))
	return err
}

// Accept waits on l for the host that knows the token, at most for patience. It refuses all other
// connections, and closes l. The caller closes the connection.
func Accept(l net.Listener, token []byte, patience time.Duration) (net.Conn, error) {
	late := time.AfterFunc(patience, func() { l.Close() })
	defer late.Stop()
	defer l.Close()
	type shaken struct {
		conn net.Conn
		err  error
	}
	// In parallel, so that a silent connection does not keep the host out.
	good, tries := make(chan shaken), make(chan struct{}, maxTries)
	done := make(chan struct{})
	defer close(done)
	give := func(s shaken) {
		select {
		case good <- s:
		case <-done:
			if s.conn != nil {
				s.conn.Close()
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				give(shaken{err: err})
				return
			}
			select {
			case tries <- struct{}{}:
			default:
				conn.Close()
				give(shaken{err: fmt.Errorf("%d connections came without the token, and none from the host", maxTries)})
				return
			}
			go func() {
				if err := agent(conn, token); err != nil {
					conn.Close()
					return
				}
				give(shaken{conn: conn})
			}()
		}
	}()
	s := <-good
	return s.conn, s.err
}
