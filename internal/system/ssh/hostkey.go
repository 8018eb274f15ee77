package ssh

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/tare-bench/tare/internal/fault"
)

// knownHosts checks the host keys of machines and rejects unknown ones: the machine gets a program
// to run, and tare trusts its results.
type knownHosts struct {
	lookup      ssh.HostKeyCallback
	set         settings
	file        string // where the remedy adds a key
	authorities bool   // the files name certificate authorities
}

// hostKeys reads the arm's file, or else the user's and the system's.
func hostKeys(set settings) (*knownHosts, error) {
	files := []string{homePath("~/.ssh/known_hosts"), "/etc/ssh/ssh_known_hosts"}
	if set.knownHosts != "" {
		files = []string{homePath(set.knownHosts)}
	}
	k := &knownHosts{set: set, file: files[0]}
	var there []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Hostf("the known hosts: %w", err)
		}
		there = append(there, f)
		k.authorities = k.authorities || bytes.Contains(b, []byte("@cert-authority"))
	}
	var err error
	if k.lookup, err = knownhosts.New(there...); err != nil {
		return nil, fault.Hostf("the known hosts: %w", err)
	}
	return k, nil
}

// check is the client's HostKeyCallback.
func (k *knownHosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	err := k.lookup(address, remote, key)
	if err == nil {
		return nil
	}
	name := knownhosts.Normalize(address)
	shown := fmt.Sprintf("%s %s", key.Type(), ssh.FingerprintSHA256(key))
	var known *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return fault.Hostf("the host key of %s (%s) was revoked in %s:%d", name, shown, revoked.Revoked.Filename,
			revoked.Revoked.Line)
	case !errors.As(err, &known):
		return fault.Hostf("the host key of %s (%s): %w", name, shown, err)
	case len(known.Want) == 0:
		return fault.WithRemedy(fault.Hostf("the host key of %s is not known: the machine presents %s", name, shown),
			"compare that with ssh-keygen -lf /etc/ssh/ssh_host_%s_key.pub on the machine, then: ssh-keyscan -p %s -t %s "+
				"%s >> %s",
			keyWord(key), k.set.port, keyWord(key), k.set.host, k.file)
	}
	w := known.Want[0]
	return fault.WithRemedy(fault.Hostf("the host key of %s has changed: the machine presents %s, but %s:%d has %s %s; "+
		"the machine was reinstalled, or another one answers in its place",
		name, shown, w.Filename, w.Line, w.Key.Type(), ssh.FingerprintSHA256(w.Key)),
		"only if you know why: ssh-keygen -f %s -R '%s', and add the new key", w.Filename, name)
}

// keyWord returns the name of a key's type as ssh-keyscan and file names have it.
func keyWord(key ssh.PublicKey) string {
	word := strings.TrimPrefix(key.Type(), "ssh-")
	if strings.HasPrefix(word, "ecdsa") {
		return "ecdsa"
	}
	return word
}

// algorithms returns the algorithms of the keys that are known of a machine, so that the machine
// presents one of those rather than another key that it has; nil: any.
func (k *knownHosts) algorithms(address string) (list []string) {
	if k.authorities {
		return nil
	}
	// Looking up a key that nobody has returns the known ones.
	nobody, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var known *knownhosts.KeyError
	if !errors.As(k.lookup(address, &net.TCPAddr{}, nobody), &known) {
		return nil
	}
	for _, w := range known.Want {
		if t := w.Key.Type(); t == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			list = append(list, t)
		}
	}
	return list
}
