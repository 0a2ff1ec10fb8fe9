package api

import (
	"errors"
	"net/http"
	"strconv"

	"refrain/internal/problem"
	"refrain/models"
)

// Models are the codes that sentences are signed with; see package models.
type Models interface {
	// Status is what is known of them.
	Status() models.Status
	// Learn has a model learned from the window now, Use another one taken on. Both only begin: Status tells how far that
	// is. The error wraps ErrBusy where something like it is under way, ErrUnknown where there is no such model, ErrUnusable
	// where there is one that cannot be had.
	Learn() error
	Use(id int) error
}

// ErrBusy says that what was asked for must wait for something else.
var ErrBusy = errors.New("busy")

// ErrUnusable says that there is what was asked for, but damaged; what it is wrapped in says how, to the client too.
var ErrUnusable = errors.New("it cannot be used")

func (a *handlers) models(*http.Request) (models.Status, error) { return a.Models.Status(), nil }

func (a *handlers) learnModel(w http.ResponseWriter, r *http.Request) {
	a.accepted(w, r, a.Models.Learn())
}

func (a *handlers) useModel(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 0 {
		problem.Write(w, r, problem.Problem{
			Type: problem.NoSuchModel, Status: http.StatusNotFound, Detail: "A model is known by its number; GET /v1/models lists them.",
		})
		return
	}
	a.accepted(w, r, a.Models.Use(id))
}

// accepted says that something has begun, or why not.
func (a *handlers) accepted(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, ErrBusy):
		problem.Write(w, r, problem.Problem{
			Type: problem.ModelBusy, Status: http.StatusConflict,
			Detail: "A model is being learned or taken on: GET /v1/models tells how far that is.",
		})
	case errors.Is(err, ErrUnknown):
		problem.Write(w, r, problem.Problem{
			Type: problem.NoSuchModel, Status: http.StatusNotFound, Detail: "There is no such model; GET /v1/models lists them.",
		})
	case errors.Is(err, ErrUnusable):
		problem.Write(w, r, problem.Problem{
			Type: problem.BrokenModel, Status: http.StatusUnprocessableEntity,
			Detail: "There is such a model, but " + err.Error() + ". The one in use stays.",
		})
	case err != nil:
		a.fail(w, r, err)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}
