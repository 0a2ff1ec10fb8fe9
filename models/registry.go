package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"refrain/hashcodes"
	"refrain/internal/atomicfile"
)

// Registry is a folder of models, and knows which one is in use:
//
//	models.json   the list
//	3.model       the third that was learned
//
// Files are written beside their place and renamed, so that a crash leaves the old or the new one. Model 0 is that of
// the configuration; it has no file. Any goroutine may use a Registry.
type Registry struct {
	dir     string
	base    *hashcodes.Model
	purpose string // what models are made for

	mu       sync.Mutex
	list     list
	fallback string // why the model that was in use is not; "": it is
}

// list is the content of models.json.
type list struct {
	Base    string    `json:"base"` // what is configured: the fingerprint of the model, and the purpose of models
	Current int       `json:"current"`
	Last    int       `json:"last"`  // number of the newest that there ever was
	Tried   time.Time `json:"tried"` // when the last training began, or the list
	Models  []Entry   `json:"models"`
}

// Entry is what the registry knows of a model.
type Entry struct {
	ID        int       `json:"id"`
	Name      string    `json:"name"`
	For       string    `json:"for"` // its purpose: bits and ones of the codes, threshold
	Why       string    `json:"why"` // it was learned: schedule, drift or request
	LearnedAt time.Time `json:"made,omitzero"`
	Sentences int       `json:"sentences"` // distinct ones that it was learned from
	Before    float64   `json:"before"`    // false candidates a query with the codes in use then,
	After     float64   `json:"after"`     // and with these
}

// maxStoredModels is how many models stay besides the one in use.
const maxStoredModels = 4

// OpenRegistry opens the folder, which is made where it is missing. base is the model of the configuration, for such a
// threshold. When one of them is configured anew, base is the model in use again. A list that cannot be read is begun
// anew, and the log says so: which model is used changes no event.
func OpenRegistry(dir string, base *hashcodes.Model, threshold string, log *slog.Logger) (*Registry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	r := &Registry{dir: dir, base: base, purpose: fmt.Sprintf("%d bits, %d a word, at %s", base.Bits(), base.Ones(), threshold)}
	if err := r.read(log); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	print, err := fingerprint(base)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	configured := print + ", " + r.purpose
	if r.list.Current != 0 && r.list.Base != configured {
		log.Warn("models: the configuration has changed: its model is used, not the one that was in use before", "model",
			r.list.Current)
		r.list.Current = 0
	}
	r.list.Base = configured
	return r, r.store(r.list)
}

// read reads the list, and clears up what a crash has left.
func (r *Registry) read(log *slog.Logger) error {
	data, err := os.ReadFile(r.path("models.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		err = json.Unmarshal(data, &r.list)
		if err != nil {
			log.Error("models: the list cannot be read and is begun anew", "file", r.path("models.json"), "error", err)
		}
	}
	if err != nil {
		r.list = list{Tried: time.Now()}
	}
	halves, err := filepath.Glob(r.path(atomicfile.Unfinished))
	for _, unfinished := range halves {
		_ = os.Remove(unfinished) // one that stays does no harm
	}
	return errors.Join(err, r.skipFiles())
}

// fingerprint tells one model from another.
func fingerprint(m *hashcodes.Model) (string, error) {
	h := xxh3.New()
	if err := m.Write(h); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// skipFiles makes sure that no new model takes the file of another: a list that was lost does not know them.
func (r *Registry) skipFiles() error {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		var id int
		if n, _ := fmt.Sscanf(f.Name(), "%d.model", &id); n == 1 {
			r.list.Last = max(r.list.Last, id)
		}
	}
	return nil
}

func (r *Registry) path(name string) string { return filepath.Join(r.dir, name) }

func (r *Registry) file(id int) string { return r.path(fmt.Sprintf("%d.model", id)) }

func (r *Registry) entry(id int) *Entry {
	i := slices.IndexFunc(r.list.Models, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return &r.list.Models[i]
}

// List returns what there is, the oldest first, and which one is in use.
func (r *Registry) List() (models []Entry, current int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	base := Entry{Name: r.base.Name(), For: r.purpose, Why: "configuration"}
	return append([]Entry{base}, r.list.Models...), r.list.Current
}

// ErrUnknown says that there is no such model.
var ErrUnknown = errors.New("no such model")

// Load reads a model. The error is ErrUnknown, a FileError, or that of the system.
func (r *Registry) Load(id int) (*hashcodes.Model, error) {
	if id == 0 {
		return r.base, nil
	}
	r.mu.Lock()
	known := r.entry(id) != nil
	r.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("model %d: %w", id, ErrUnknown)
	}
	return r.readModel(id)
}

func (r *Registry) readModel(id int) (*hashcodes.Model, error) {
	stored, err := os.ReadFile(r.file(id))
	if bare := (*fs.PathError)(nil); errors.As(err, &bare) {
		err = bare.Err // the folder is nothing to tell clients
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{id, err}
	case err != nil:
		return nil, fmt.Errorf("model %d: %w", id, err)
	}
	m, err := hashcodes.Read(bytes.NewReader(stored))
	if err == nil {
		err = m.CheckVersion()
	}
	if err != nil {
		return nil, &FileError{id, err}
	}
	return m, nil
}

// FileError says that a model is listed, but its file is damaged, or is not there.
type FileError struct {
	ID  int
	Err error
}

func (e *FileError) Error() string { return fmt.Sprintf("%d.model: %v", e.ID, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// InUse reads the model in use. One that cannot be read is left, for that of the configuration; the log says so, and the
// status of the Keeper.
func (r *Registry) InUse(log *slog.Logger) *hashcodes.Model {
	_, id := r.List()
	m, err := r.Load(id)
	if err != nil {
		log.Error("models: the model in use cannot be read; the configuration's is used", "file", r.file(id), "error", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list.Current = 0
		r.fallback = fmt.Sprintf("the model in use cannot be read: %v; that of the configuration is used", err)
		return r.base
	}
	return m
}

// fallbackReason says why the model that was in use is not; "": it is.
func (r *Registry) fallbackReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fallback
}

// Add keeps a model that was learned and returns its number. Old ones go, but never the one in use.
func (r *Registry) Add(m *hashcodes.Model, e Entry) (id int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.ID, e.Name, e.For = r.list.Last+1, m.Name(), r.purpose
	if err := atomicfile.Write(r.file(e.ID), 0o600, m.Write); err != nil {
		return 0, fmt.Errorf("keep model %d: %w", e.ID, err)
	}
	next := r.list
	next.Last, next.Models = e.ID, append(slices.Clone(next.Models), e)
	old := next.prune()
	if err := r.store(next); err != nil {
		return 0, err
	}
	for _, id := range old {
		_ = os.Remove(r.file(id)) // it is listed no more; a file that stays does no harm
	}
	return e.ID, nil
}

// prune takes the oldest models out of the list and returns their numbers.
func (l *list) prune() (pruned []int) {
	extra := len(l.Models) - maxStoredModels - 1
	l.Models = slices.DeleteFunc(l.Models, func(e Entry) bool {
		if extra <= 0 || e.ID == l.Current {
			return false
		}
		extra--
		pruned = append(pruned, e.ID)
		return true
	})
	return pruned
}

// SetCurrent notes which model is in use from now on, also after the next start.
func (r *Registry) SetCurrent(id int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id != 0 && r.entry(id) == nil {
		return fmt.Errorf("model %d: %w", id, ErrUnknown)
	}
	next := r.list
	next.Current = id
	return r.store(next)
}

// SetTried notes when a training began.
func (r *Registry) SetTried(at time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.list
	next.Tried = at
	return r.store(next)
}

// Tried is when the last training began, or, before the first, when the registry was made.
func (r *Registry) Tried() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list.Tried
}

// store makes next the list, in the folder first.
func (r *Registry) store(next list) error {
	err := atomicfile.Write(r.path("models.json"), 0o600, func(f io.Writer) error {
		e := json.NewEncoder(f)
		e.SetIndent("", "  ")
		return e.Encode(next)
	})
	if err != nil {
		return fmt.Errorf("keep the list of models: %w", err)
	}
	r.list = next
	return nil
}
