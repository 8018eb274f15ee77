package store

import (
	"encoding/json"

	"github.com/tare-bench/tare/internal/fault"
	"github.com/tare-bench/tare/internal/model"
)

// EventAttack is a guest's attack on one of its limits: a model.Attack in JSON.
const EventAttack = "attack"

// Attacks returns the attacks of guests on their limits.
func (r *Run) Attacks() (all []model.Attack, err error) {
	events, err := r.Events()
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if e.Kind != EventAttack {
			continue
		}
		var a model.Attack
		if err := json.Unmarshal([]byte(e.Text), &a); err != nil {
			return nil, fault.Hostf("%s: the event about an attack: %w", r.path, err)
		}
		all = append(all, a)
	}
	return all, nil
}
