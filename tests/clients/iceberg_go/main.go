// Steps of iceberg-go's story, one per call: story URL STEP. Prints what the client saw as JSON;
// story.py asserts on that and on what the catalog holds. STORE is a JSON object of properties.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/view"
)

type facts map[string]any

var (
	ctx    = context.Background()
	cat    *rest.Catalog
	inner  = table.Identifier{"outer", "inner"}
	events = iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64, Required: true},
		iceberg.NestedField{ID: 2, Name: "data", Type: iceberg.PrimitiveTypes.String})
	columns = arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "data", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func ident(ns table.Identifier, name string) table.Identifier {
	return append(slices.Clone(ns), name)
}

func reader(ids ...int64) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns)
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("row %d", id))
	}
	return must(array.NewRecordReader(columns, []arrow.RecordBatch{b.NewRecordBatch()}))
}

// ids are the values of the column id, sorted.
func ids(t *table.Table, options ...table.ScanOption) []int64 {
	rows := must(t.Scan(options...).ToArrowTable(ctx))
	found := []int64{}
	for i, name := range rows.Schema().Fields() {
		if name.Name != "id" {
			continue
		}
		for _, chunk := range rows.Column(i).Data().Chunks() {
			found = append(found, chunk.(*array.Int64).Int64Values()...)
		}
	}
	slices.Sort(found)
	return found
}

func create(id table.Identifier, options ...catalog.CreateTableOpt) *table.Table {
	return must(cat.CreateTable(ctx, id, events, options...))
}

func appended(t *table.Table, values ...int64) *table.Table {
	return must(t.Append(ctx, reader(values...), nil))
}

func namespaces() facts {
	check(cat.CreateNamespace(ctx, table.Identifier{"db"}, iceberg.Properties{"owner": "story", "old": "1"}))
	again := cat.CreateNamespace(ctx, table.Identifier{"db"}, nil)
	check(cat.CreateNamespace(ctx, inner, nil))
	changed := must(cat.UpdateNamespaceProperties(ctx, table.Identifier{"db"}, []string{"old", "none"}, iceberg.Properties{"new": "2"}))
	return facts{
		"again":      errors.Is(again, catalog.ErrNamespaceAlreadyExists),
		"changed":    []any{changed.Updated, changed.Removed, changed.Missing},
		"properties": must(cat.LoadNamespaceProperties(ctx, table.Identifier{"db"})),
		"top":        must(cat.ListNamespaces(ctx, nil)),
		"below":      must(cat.ListNamespaces(ctx, table.Identifier{"outer"})),
		"there":      must(cat.CheckNamespaceExists(ctx, inner)),
		"not there":  must(cat.CheckNamespaceExists(ctx, table.Identifier{"outer", "none"})),
		"not empty":  errors.Is(cat.DropNamespace(ctx, table.Identifier{"outer"}), catalog.ErrNamespaceNotEmpty),
	}
}

func rows() facts {
	id := ident(inner, "events")
	t := create(id, catalog.WithProperties(iceberg.Properties{"owner": "story"}))
	_, again := cat.CreateTable(ctx, id, events)
	t = appended(t, 1, 2, 3)
	first := t.CurrentSnapshot().SnapshotID
	t = appended(t, 4, 5)
	t = must(t.Delete(ctx, iceberg.EqualTo(iceberg.Reference("id"), int64(2)), nil))
	t = must(t.Overwrite(ctx, reader(40), nil, table.WithOverwriteFilter(iceberg.EqualTo(iceberg.Reference("id"), int64(4)))))
	t = must(cat.LoadTable(ctx, id))
	return facts{
		"again":  errors.Is(again, catalog.ErrTableAlreadyExists),
		"all":    ids(t),
		"first":  ids(t, table.WithSnapshotID(first)),
		"filter": ids(t, table.WithRowFilter(iceberg.GreaterThan(iceberg.Reference("id"), int64(3)))),
	}
}

func shape() facts {
	t := appended(create(table.Identifier{"db", "shape"}), 1)
	tx := t.NewTransaction()
	check(tx.UpdateSchema(true, false).AddColumn([]string{"note"}, iceberg.PrimitiveTypes.String, "", false, nil).Commit())
	check(tx.SetProperties(iceberg.Properties{"a": "1"}))
	t = must(tx.Commit(ctx))
	tx = t.NewTransaction()
	check(tx.UpdateSpec(true).AddField("id", iceberg.BucketTransform{NumBuckets: 4}, "part").Commit())
	t = must(tx.Commit(ctx))
	tx = t.NewTransaction()
	check(tx.UpgradeFormatVersion(3))
	t = must(tx.Commit(ctx))
	tx = t.NewTransaction()
	check(tx.UpdateSchema(true, false).DeleteColumn([]string{"note"}).Commit())
	check(tx.RemoveProperties([]string{"a"}))
	t = appended(must(tx.Commit(ctx)), 2, 3)
	return facts{"all": ids(must(cat.LoadTable(ctx, t.Identifier()))), "version": t.Metadata().Version()}
}

// both commits appends to two tables at once.
func both(a, b *table.Table, value int64) error {
	all := must(catalog.NewMultiTableTransaction(cat))
	for _, t := range []*table.Table{a, b} {
		tx := t.NewTransaction()
		check(tx.Append(ctx, reader(value), nil))
		check(all.AddTransaction(tx))
	}
	return all.Commit(ctx)
}

func twoTables() facts {
	a, b := create(table.Identifier{"db", "debit"}), create(ident(inner, "credit"))
	check(both(a, b, 1))
	a, b = must(cat.LoadTable(ctx, a.Identifier())), must(cat.LoadTable(ctx, b.Identifier()))
	appended(b, 2)
	conflict := both(a, b, 3)
	return facts{
		"conflict": errors.Is(conflict, table.ErrCommitFailed),
		"text":     fmt.Sprint(conflict),
		"a":        ids(must(cat.LoadTable(ctx, a.Identifier()))),
		"b":        ids(must(cat.LoadTable(ctx, b.Identifier()))),
	}
}

// writers append to one table at the same time; who loses loads again and repeats.
func writers() facts {
	id := table.Identifier{"db", "race"}
	create(id)
	var all sync.WaitGroup
	for writer := range int64(4) {
		all.Go(func() {
			for i := range int64(3) {
				for {
					_, err := must(cat.LoadTable(ctx, id)).Append(ctx, reader(10*writer+i), nil)
					if err == nil {
						break
					}
					if !errors.Is(err, table.ErrCommitFailed) {
						panic(err)
					}
				}
			}
		})
	}
	all.Wait()
	return facts{"all": ids(must(cat.LoadTable(ctx, id)))}
}

func moves() facts {
	old, moved := table.Identifier{"db", "old name"}, ident(inner, "a b+c")
	t := appended(create(old), 1, 2)
	renamed := must(cat.RenameTable(ctx, old, moved))
	gone := must(cat.CheckTableExists(ctx, old))
	listed := []table.Identifier{}
	for name, err := range cat.ListTables(ctx, inner) {
		check(err)
		listed = append(listed, name)
	}
	check(cat.DropTable(ctx, moved))
	back := must(cat.RegisterTable(ctx, table.Identifier{"db", "back"}, renamed.MetadataLocation()))
	found := facts{"all": ids(back), "still old": gone, "listed": listed,
		"same": t.Metadata().TableUUID() == back.Metadata().TableUUID(), "location": back.Location()}
	check(cat.PurgeTable(ctx, back.Identifier()))
	return found
}

func version(t table.Identifier, texts ...string) *view.Version {
	all := []view.Representation{}
	for _, text := range texts {
		dialect, sql, _ := strings.Cut(text, ": ")
		all = append(all, view.NewRepresentation(sql, dialect))
	}
	return must(view.NewVersion(1, 0, all, t))
}

func texts(v *view.View) []string {
	found := []string{}
	for _, one := range v.CurrentVersion().Representations {
		found = append(found, one.Dialect+": "+one.Sql)
	}
	return found
}

// replaced adds a version to a view as it was loaded and makes it the current one.
func replaced(v *view.View, texts ...string) (*view.View, error) {
	next := v.CurrentVersion().Clone()
	next.Representations = version(nil, texts...).Representations
	change := must(must(view.MetadataBuilderFromBase(v.Metadata())).AddVersion(next).SetCurrentVersionID(view.LastAddedID).Build())
	return cat.UpdateView(ctx, v.Identifier(), view.Requirements{view.AssertViewUUID(v.Metadata().ViewUUID())}, change.Changes)
}

func views() facts {
	id := ident(inner, "seen")
	create(table.Identifier{"db", "taken"})
	v := must(cat.CreateView(ctx, id, version(inner, "spark: SELECT 1", "trino: SELECT 2"), events,
		catalog.WithViewProperties(iceberg.Properties{"comment": "first", "gc.enabled": "false"})))
	_, again := cat.CreateView(ctx, id, version(inner, "spark: SELECT 1"), events)
	_, taken := cat.CreateView(ctx, table.Identifier{"db", "taken"}, version(inner, "spark: SELECT 1"), events)
	_, table_ := cat.CreateTable(ctx, id, events)
	made := texts(must(cat.LoadView(ctx, id)))
	next := must(replaced(v, "spark: SELECT 3", "trino: SELECT 4"))
	_, err := cat.UpdateView(ctx, id, nil, view.Updates{
		view.NewSetPropertiesUpdate(iceberg.Properties{"comment": "second"}), view.NewRemovePropertiesUpdate([]string{"none"})})
	check(err)
	listed := []table.Identifier{}
	for name, err := range cat.ListViews(ctx, inner) {
		check(err)
		listed = append(listed, name)
	}
	moved := must(cat.RenameView(ctx, id, table.Identifier{"db", "moved"}))
	old := must(cat.CheckViewExists(ctx, id))
	check(cat.DropView(ctx, moved.Identifier()))
	_, gone := cat.LoadView(ctx, moved.Identifier())
	back := must(cat.RegisterView(ctx, table.Identifier{"db", "back"}, moved.MetadataLocation()))
	return facts{
		"again":      errors.Is(again, catalog.ErrViewAlreadyExists),
		"taken":      errors.Is(taken, catalog.ErrViewAlreadyExists),
		"table":      errors.Is(table_, catalog.ErrTableAlreadyExists),
		"made":       made,
		"next":       texts(next),
		"listed":     listed,
		"old":        old,
		"gone":       errors.Is(gone, catalog.ErrNoSuchView),
		"back":       texts(back),
		"same":       back.Metadata().ViewUUID() == v.Metadata().ViewUUID(),
		"versions":   len(back.Versions()),
		"properties": back.Properties(),
	}
}

func main() {
	steps := map[string]func() facts{"namespaces": namespaces, "rows": rows, "shape": shape, "two tables": twoTables,
		"writers": writers, "moves": moves, "views": views}
	store := iceberg.Properties{}
	check(json.Unmarshal([]byte(os.Getenv("STORE")), &store))
	cat = must(rest.NewCatalog(ctx, "firn", os.Args[1], rest.WithWarehouseLocation("main"), rest.WithAdditionalProps(store)))
	check(json.NewEncoder(os.Stdout).Encode(steps[os.Args[2]]()))
}
