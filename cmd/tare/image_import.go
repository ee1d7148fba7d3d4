package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/lab"
	"tare/internal/ledger"
	"tare/internal/platform/docker"
)

// importers make the forms that a platform's daemon keeps. Docker's has a
// store of its own for it, in the directory that is measured.
func (a *app) importers(img *image.Image, led *ledger.Ledger, id string) []image.Maker {
	return []image.Maker{{
		Form: "docker", What: "imported by Docker, in its store", From: "tar", Command: "docker import TAR",
		Make: func(ctx context.Context, tar, dir string) (time.Duration, error) {
			return imported(ctx, docker.New(dir), bench.Env{Run: id, Image: archived{img, tar}, Ledger: led, Dir: dir})
		},
	}}
}

// archived is an image whose archive is at hand.
type archived struct {
	*image.Image
	tar string
}

// Tar returns the archive.
func (i archived) Tar(context.Context) (string, error) { return i.tar, nil }

// imported opens the platform in a lab of its own and tells how long it imported the image.
func imported(ctx context.Context, p bench.Platform, env bench.Env) (took time.Duration, err error) {
	if _, err := p.Check(ctx); err != nil {
		return 0, err
	}
	l, err := lab.New(ctx, env.Run, env.Ledger)
	if err != nil {
		return 0, err
	}
	env.Lab = l
	closed := func(f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeDeadline)
		defer cancel()
		err = errors.Join(err, f(ctx))
	}
	defer closed(l.Close)
	e, err := p.Open(ctx, env)
	if err != nil {
		return 0, err
	}
	defer closed(e.Close)
	if took = e.(bench.Importing).Imported(); took == 0 {
		err = fmt.Errorf("%s: the image was imported already", p.Name())
	}
	return took, err
}
