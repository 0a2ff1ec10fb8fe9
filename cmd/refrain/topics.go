package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"refrain/internal/config"
	"refrain/internal/migrate"
	"refrain/internal/telemetry"
	"refrain/internal/terminal"
	"refrain/server"
)

func (m *Main) topics() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Copy the topics of a stopped service into others; print logs",
		Args:  atMost(0, "none"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(m.copyTopics(), m.printTopics())
	return cmd
}

func (m *Main) printTopics() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "print --config FILE LOG",
		Short: "Print what was refused, or what webhooks were sent",
		Long: "Print one of the logs of a service, the oldest line first, as JSON lines: dead-letters (posts that were refused, with\n" +
			"the reason), dead-events (events that a sink never took) or deliveries (attempts of webhooks). They are read where\n" +
			"the service keeps them: in its data directory, or in topics of the broker that the configuration names. The service\n" +
			"may run meanwhile.",
		Example: "  refrain topics print --config cluster.yaml dead-letters | jq -r .raw > again.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(server.PrintedLogs, args[0]) {
				return usage("want one of %s", strings.Join(server.PrintedLogs, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.Load(file, os.Environ())
			if err != nil {
				return usage("%w", err)
			}
			t, err := telemetry.Start(cmd.Context(), m.telemetry("error", "auto"))
			if err != nil {
				return err
			}
			cfg.Logger = t.Logger
			return server.PrintLog(cmd.Context(), cfg, args[0], m.Stdout)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file of the service")
	return cmd
}

func (m *Main) copyTopics() *cobra.Command {
	var from, to string
	var again bool
	cmd := &cobra.Command{
		Use:   "copy --from OLD.yaml --to NEW.yaml",
		Short: "Carry a window, its events and deletions over to other topics",
		Long: "Copy what the topics of a stopped service hold into those that another configuration names: from a data\n" +
			"directory to Kafka or NATS, from one broker to another, or into another number of partitions (topics.partitions,\n" +
			"with another topics.name). The new service finds every pair that the old one would have found, and reports none\n" +
			"again; sinks go on where they were. The topics copied to have to be empty, and neither service may run.\n\n" +
			"What is refused with the reason: a sink that has not been given all events yet (start the old service again and\n" +
			"wait, or let that sink begin with the oldest event, --again). docs/cluster.md says how to do it step by step.",
		Example: "  refrain topics copy --from one-machine.yaml --to cluster.yaml",
		Args:    atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return usage("want --from and --to, a configuration each")
			}
			old, err := config.Load(from, nil)
			if err != nil {
				return usage("--from: %w", err)
			}
			next, err := config.Load(to, nil)
			if err != nil {
				return usage("--to: %w", err)
			}
			return m.runCopyTopics(cmd, old, next, again)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "configuration of the service that has stopped")
	cmd.Flags().StringVar(&to, "to", "", "configuration of the service that is to go on")
	cmd.Flags().BoolVar(&again, "again", false, "sinks that are behind begin with the oldest event")
	return cmd
}

func (m *Main) runCopyTopics(cmd *cobra.Command, old, next server.Config, again bool) (err error) {
	t, err := telemetry.Start(cmd.Context(), m.telemetry("warn", "auto"))
	if err != nil {
		return err
	}
	old.Logger, next.Logger = t.Logger, t.Logger
	from, err := server.OpenTopics(cmd.Context(), old)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := server.OpenTopics(cmd.Context(), next)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	status := terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr))
	defer status.Clear()
	report, err := migrate.Run(cmd.Context(), migrate.Config{
		From: from.Deployment, To: to.Deployment, Sinks: next.SinkNames(), Keys: next.CopiedKeys(), Again: again, Logger: t.Logger,
		Progress: func(topic string, done, of int64) {
			status.Set(fmt.Sprintf("%s: %d of about %d records", topic, done, of))
		},
	})
	if err != nil {
		return err
	}
	status.Clear()
	fmt.Fprintf(m.Stderr, "copied %d records of sentences, %d events, %d deletions\n", report.Sentences, report.Events, report.Control)
	if !report.LookedUp {
		fmt.Fprintln(m.Stderr, "the old service had not looked everything up: the new one does, and reports some events again, with the same ids")
	}
	return nil
}
