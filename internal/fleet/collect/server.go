package collect

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/files"
)

// Server is a collector. It keeps the file of a run as DIR/FLEET/MACHINE/RUN.tare, which tare fleet
// show can read, and what has arrived of one in DIR/FLEET/MACHINE/.RUN. Images are in DIR/.images.
type Server struct {
	dir   string
	token string
}

// NewServer returns a collector of files below dir for clients that know the token.
func NewServer(dir, token string) (*Server, error) {
	if len(token) < 16 {
		return nil, fault.WithRemedy(fault.Campaignf("the collector's token is too short"), "openssl rand -hex 32")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Hostf("%w", err)
	}
	return &Server{dir, token}, nil
}

// HTTP is a server with time limits, which lacks an address and certificates.
func (s *Server) HTTP() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /runs/{fleet}/{machine}/{run}/chunks/{hash}", named(s.putChunk))
	mux.HandleFunc("PUT /runs/{fleet}/{machine}/{run}", named(s.putManifest))
	mux.HandleFunc("GET /runs/{fleet}/{machine}/{run}", named(s.get))
	mux.HandleFunc("PUT /images/{hash}", hashed(s.putIndex))
	mux.HandleFunc("PUT /images/chunks/{hash}", hashed(s.putImageChunk))
	mux.HandleFunc("GET /images/{hash}", hashed(func(w http.ResponseWriter, r *http.Request, id string) {
		serveFile(w, r, s.index(id))
	}))
	mux.HandleFunc("GET /images/chunks/{hash}", hashed(func(w http.ResponseWriter, r *http.Request, hash string) {
		serveFile(w, r, s.imageChunk(hash))
	}))
	return &http.Server{Handler: s.authorized(mux), ReadHeaderTimeout: 20 * time.Second, ReadTimeout: 5 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
}

// authorized lets only those with the token pass.
func (s *Server) authorized(h http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			http.Error(w, "the token is wrong", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hashed lets only hashes pass.
func hashed(h func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hash := r.PathValue("hash")
		if !hashForm.MatchString(hash) {
			http.Error(w, "this is no hash", http.StatusBadRequest)
			return
		}
		h(w, r, hash)
	}
}

// named lets only names pass that are safe as those of files.
func named(h func(http.ResponseWriter, *http.Request, Name)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := Name{r.PathValue("fleet"), r.PathValue("machine"), r.PathValue("run")}
		if err := n.Check(); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h(w, r, n)
	}
}

func (s *Server) file(n Name) string  { return filepath.Join(s.dir, n.Fleet, n.Machine, n.Run+".tare") }
func (s *Server) parts(n Name) string { return filepath.Join(s.dir, n.Fleet, n.Machine, "."+n.Run) }

func (s *Server) putChunk(w http.ResponseWriter, r *http.Request, n Name) {
	hash := r.PathValue("hash")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, chunkSize))
	if err != nil || !hashForm.MatchString(hash) || hashOf(body) != hash {
		http.Error(w, "the chunk does not have this hash, or is too long", http.StatusBadRequest)
		return
	}
	s.keep(w, filepath.Join(s.parts(n), hash), body)
}

// putManifest makes the file of its chunks, or says which are missing.
func (s *Server) putManifest(w http.ResponseWriter, r *http.Request, n Name) {
	var m manifest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 100*maxChunks)).Decode(&m)
	if err != nil || !hashForm.MatchString(m.SHA256) || len(m.Chunks) > maxChunks {
		http.Error(w, "this is not a manifest", http.StatusBadRequest)
		return
	}
	if have, err := files.Sum(s.file(n)); err == nil && have == m.SHA256 {
		return
	}
	at := func(hash string) string { return filepath.Join(s.parts(n), hash) }
	var chunks []string
	for _, c := range m.Chunks {
		if !hashForm.MatchString(c) {
			http.Error(w, "this is not a manifest", http.StatusBadRequest)
			return
		}
		chunks = append(chunks, at(c))
	}
	if answerMissing(w, m.Chunks, at) {
		return
	}
	if err := os.MkdirAll(s.parts(n), 0o700); err != nil { // an empty file has no chunks
		refuse(w, err)
		return
	}
	if err := replace(s.file(n), &joined{paths: chunks}, m.SHA256); err != nil {
		refuse(w, err)
		return
	}
	_ = os.RemoveAll(s.parts(n)) // what is left is overwritten by the next file
}

// answerMissing names the chunks that are not where at says, each once. It reports whether there are any.
func answerMissing(w http.ResponseWriter, chunks []string, at func(hash string) string) bool {
	var missing []string
	asked := map[string]bool{}
	for _, c := range chunks {
		if asked[c] {
			continue
		}
		asked[c] = true
		if _, err := os.Stat(at(c)); err != nil {
			missing = append(missing, c)
		}
	}
	if missing == nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(missing) // a client that is gone asks again
	return true
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, n Name) {
	f, err := os.Open(s.file(n))
	if err != nil {
		refuse(w, err)
		return
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("ETag", `"`+hex.EncodeToString(h.Sum(nil))+`"`)
	w.Header().Set("Content-Type", "application/vnd.sqlite3")
	http.ServeContent(w, r, "", time.Time{}, f)
}

// refuse answers with an error of the server's.
func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	http.Error(w, err.Error(), http.StatusInternalServerError)
}

// joined reads files one after the other, with one of them open.
type joined struct {
	paths []string
	open  *os.File
}

func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.open == nil {
			if len(j.paths) == 0 {
				return 0, io.EOF
			}
			f, err := os.Open(j.paths[0])
			if err != nil {
				return 0, err
			}
			j.open, j.paths = f, j.paths[1:]
		}
		n, err := j.open.Read(p)
		if err != io.EOF {
			return n, err
		}
		j.open.Close()
		j.open = nil
		if n > 0 {
			return n, nil
		}
	}
}
