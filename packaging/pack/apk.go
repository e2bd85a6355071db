package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// settleApk writes the first archive of an apk anew: nfpm 2.45.2 puts the scripts into it in an order that changes from run to run, with
// the times of their files. The archive behind it, whose hash stands in .PKGINFO, stays as it is.
func settleApk(at string, moment time.Time) error {
	whole, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	settled, err := settled(whole, moment)
	if err != nil {
		return fmt.Errorf("cannot put %s in order: %w", at, err)
	}
	return os.WriteFile(at, settled, 0o644)
}

// tarred is one thing of an archive.
type tarred struct {
	head *tar.Header
	body []byte
}

func settled(apk []byte, moment time.Time) ([]byte, error) {
	in := bytes.NewReader(apk) // reads byte by byte where asked to, so that it stands at the end of the first archive afterwards
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	parts, err := readControl(text)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(parts, func(a, b tarred) int { return strings.Compare(a.head.Name, b.head.Name) }) // .PKGINFO first: capitals sort before
	var out bytes.Buffer
	if err := writeControl(&out, parts, moment); err != nil {
		return nil, err
	}
	if _, err := io.Copy(&out, in); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func readControl(text []byte) (parts []tarred, err error) {
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(h.Name, ".") || strings.HasPrefix(h.Name, "./") {
			return nil, fmt.Errorf("%s is where only the package's own files should be", h.Name)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		parts = append(parts, tarred{h, body})
	}
}

func writeControl(out io.Writer, parts []tarred, moment time.Time) error {
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, p := range parts {
		p.head.ModTime = moment
		if err := w.WriteHeader(p.head); err != nil {
			return err
		}
		if _, err := w.Write(p.body); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil { // without its end: apk reads the archives as one
		return err
	}
	return z.Close()
}
